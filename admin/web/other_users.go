package web

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/models"
)

// usersNamed is the maximum number of users that a sentence names.
const usersNamed = 5

// OtherUsers returns the users who have a permission for a partner, as in "ann@example.com or bob@example.com". The
// parameter except is a user to omit. If there are no other users, OtherUsers returns "".
func (k *Request) OtherUsers(p authz.Permission, partner, except uuid.UUID) (string, error) {
	all, err := k.console.Staff.List(k.R.Context())
	if err != nil {
		return "", err
	}
	var names []string
	for _, user := range all {
		sc, ok := k.Access.Scope(user.ID, p)
		if ok && sc.Allows(partner) && user.Status == models.StaffActive && user.ID != except {
			names = append(names, user.Email)
		}
	}
	slices.Sort(names)
	if more := len(names) - usersNamed; more > 0 {
		names = append(names[:usersNamed], fmt.Sprintf("%d others", more))
	}
	return enumerate(names, "or"), nil
}
