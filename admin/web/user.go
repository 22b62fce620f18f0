package web

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// User is the user who sends a request, and their access.
type User struct {
	Session staff.Session // zero if the user is not signed in
	Access  *authz.Access // does not change during a request
}

// SignedIn reports whether the user has completed every step of signing in.
func (u User) SignedIn() bool { return u.Session.Stage == models.StageOpen }

// ScopeOf returns the partners at which the user has a permission; ok is false if there are none.
func (u User) ScopeOf(p authz.Permission) (at scope.Scope, ok bool) {
	return u.Access.Scope(u.Session.Staff.ID, p)
}

// May reports whether the user has a permission at one partner at least. A permission that
// concerns the whole platform is needed at every partner.
func (u User) May(p authz.Permission) bool {
	at, ok := u.ScopeOf(p)
	return ok && (at.All() || !ConcernsPlatform(p))
}

// MayAt reports whether the user has a permission at one partner.
func (u User) MayAt(p authz.Permission, partner uuid.UUID) bool {
	at, ok := u.ScopeOf(p)
	return ok && at.Allows(partner)
}

// MayForAllPartners reports whether the user has a permission at every partner.
func (u User) MayForAllPartners(p authz.Permission) bool {
	at, ok := u.ScopeOf(p)
	return ok && at.All()
}

// roleFor returns the role that grants the user a permission, for the audit log.
func (u User) roleFor(p authz.Permission) string {
	may := u.Access.RolesGranting(p)
	for _, r := range u.Access.Roles(u.Session.Staff.ID) {
		if slices.Contains(may, r.Role) {
			return string(r.Role)
		}
	}
	return ""
}

// roleLabel returns the names of the user's roles.
func (u User) roleLabel() string {
	var words []string
	for _, r := range u.Access.Roles(u.Session.Staff.ID) {
		if name := staff.RoleName(r.Role); len(words) == 0 || words[len(words)-1] != name {
			words = append(words, name)
		}
	}
	if len(words) == 0 {
		return "no role"
	}
	return strings.Join(words, ", ")
}

// RoleNamesGranting returns the names of the roles that grant a permission.
func (u User) RoleNamesGranting(p authz.Permission) string {
	var names []string
	for _, r := range u.Access.RolesGranting(p) {
		names = append(names, staff.RoleName(r))
	}
	return strings.Join(names, " or ")
}
