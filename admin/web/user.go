package web

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// User is the user who sent a request, with their access.
type User struct {
	Session staff.Session // zero if there is no session
	Access  *authz.Access // does not change during a request
}

// SignedIn reports whether the user has completed every step of signing in.
func (u User) SignedIn() bool { return u.Session.Stage == models.StageOpen }

// ScopeOf returns the partners for which the user has a permission. If there are none, the result ok is
// false.
func (u User) ScopeOf(p authz.Permission) (at scope.Scope, ok bool) {
	return u.Access.Scope(u.Session.Staff.ID, p)
}

// May reports whether the user has a permission for at least one partner. If the permission applies
// to the whole platform, the user must have it for all partners.
func (u User) May(p authz.Permission) bool {
	at, ok := u.ScopeOf(p)
	return ok && (at.All() || !ConcernsPlatform(p))
}

// MayAt reports whether the user has a permission for one partner.
func (u User) MayAt(p authz.Permission, partner uuid.UUID) bool {
	at, ok := u.ScopeOf(p)
	return ok && at.Allows(partner)
}

// MayForAllPartners reports whether the user has a permission for all partners.
func (u User) MayForAllPartners(p authz.Permission) bool {
	at, ok := u.ScopeOf(p)
	return ok && at.All()
}

// roleFor returns the user's role that grants a permission. The audit log records this role.
func (u User) roleFor(p authz.Permission) string {
	may := u.Access.RolesGranting(p)
	for _, r := range u.Access.Roles(u.Session.Staff.ID) {
		if slices.Contains(may, r.Role) {
			return string(r.Role)
		}
	}
	return ""
}

// roleLabel returns a label with the names of the user's roles: "Auditor, finance".
func (u User) roleLabel() string {
	var words []string
	for _, r := range u.Access.Roles(u.Session.Staff.ID) {
		if name := staff.RoleName(r.Role); len(words) == 0 || words[len(words)-1] != name {
			words = append(words, name)
		}
	}
	if len(words) == 0 {
		return "No role"
	}
	return ui.Sentence(strings.Join(words, ", "))
}

// RoleNamesGranting returns the names of the roles that grant a permission.
func (u User) RoleNamesGranting(p authz.Permission) string {
	var names []string
	for _, r := range u.Access.RolesGranting(p) {
		names = append(names, staff.RoleName(r))
	}
	return enumerate(names, "or")
}

// EventReader returns a function that determines which audit events the user may see. These are the events about areas
// that the user may open.
func (u User) EventReader() audit.Reader {
	return func(a audit.Area) scope.Scope {
		p := authz.Permission{Object: string(a), Action: "read"}
		if a == audit.Unknown {
			p = VerifyAudit
		}
		_, partial := partialPermissions[p]
		if sc, ok := u.ScopeOf(p); ok && (partial || u.May(p)) {
			return sc
		}
		return scope.Scope{}
	}
}
