// Package authz decides what staff are allowed to do. The embedded policy lists the permissions of
// each role. The database contains the roles of each user. A user can have a role for all partners
// or for some of them. Everything that no role permits is denied. The result of a decision is a
// scope, which contains the partners for which the user has the permission.
package authz

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/casbin/casbin/v2"
	"github.com/casbin/casbin/v2/model"
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

var (
	//go:embed model.conf
	modelText string
	//go:embed policy.csv
	policyText string
)

// everywhere is the Casbin domain of a role for all partners. The domain of a role for one partner is
// the partner's id.
const everywhere = "*"

// Permission is an action on a kind of object, such as {"secrets", "write"}.
type Permission struct{ Object, Action string }

func (p Permission) String() string { return p.Object + ", " + p.Action }

// PolicyRule is a line of the policy: a role and one of its permissions.
type PolicyRule struct {
	Role models.Role
	Permission
	Number int // line number in the policy file
}

// Policy parses the embedded policy. Its errors state the line number.
func Policy() ([]PolicyRule, error) { return parse(policyText) }

func parse(text string) (lines []PolicyRule, err error) {
	seen := map[string]int{}
	number := 0
	for in := bufio.NewScanner(strings.NewReader(text)); in.Scan(); {
		number++
		line := strings.TrimSpace(in.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, ", ")
		if len(parts) != 4 || parts[0] != "p" || !slices.Contains(models.Roles[:], models.Role(parts[1])) ||
			parts[2] == "" || parts[3] == "" {
			return nil, fmt.Errorf("policy.csv, line %d: want `p, role, object, action` with one of the roles %v",
				number, models.Roles)
		}
		if before, twice := seen[line]; twice {
			return nil, fmt.Errorf("policy.csv, line %d: duplicate of line %d", number, before)
		}
		seen[line] = number
		lines = append(lines, PolicyRule{models.Role(parts[1]), Permission{parts[2], parts[3]}, number})
	}
	return lines, nil
}

// Access contains the policy and the roles of all active staff. An Access is immutable. When roles
// change, it is replaced with a new one.
type Access struct {
	enforcer *casbin.Enforcer
	policy   []PolicyRule
	roles    map[uuid.UUID][]models.StaffRole // roles of active staff
	decided  sync.Map                         // cached scopes; the enforcer is slow for users with many partners
}

type decision struct {
	staff uuid.UUID
	Permission
}

// Load returns an Access with the roles of active staff, which it reads from the database.
func Load(ctx context.Context, db *postgres.DB) (*Access, error) {
	var rows []models.StaffRole
	err := db.Gorm.WithContext(ctx).Raw(`SELECT r.staff_id, r.role, r.partner_id FROM staff_roles r JOIN staff s ON s.id = r.staff_id
		WHERE s.status = ? ORDER BY r.staff_id, r.role, r.partner_id`, models.StaffActive).Scan(&rows).Error
	if err != nil {
		return nil, postgres.Translate(err)
	}
	return New(rows)
}

// New returns an Access with the embedded policy and the given roles.
func New(rows []models.StaffRole) (*Access, error) {
	policy, err := Policy()
	if err != nil {
		return nil, err
	}
	m, err := model.NewModelFromString(modelText)
	if err != nil {
		return nil, err
	}
	a := &Access{policy: policy, roles: map[uuid.UUID][]models.StaffRole{}}
	if a.enforcer, err = casbin.NewEnforcer(m); err != nil {
		return nil, err
	}
	for _, line := range policy {
		if _, err := a.enforcer.AddPolicy(string(line.Role), line.Object, line.Action); err != nil {
			return nil, err
		}
	}
	for _, row := range rows {
		if _, err := a.enforcer.AddGroupingPolicy(row.StaffID.String(), string(row.Role), domain(row.PartnerID)); err != nil {
			return nil, err
		}
		a.roles[row.StaffID] = append(a.roles[row.StaffID], row)
	}
	return a, nil
}

func domain(partner *uuid.UUID) string {
	if partner == nil {
		return everywhere
	}
	return partner.String()
}

// Roles returns the roles of a user.
func (a *Access) Roles(staff uuid.UUID) []models.StaffRole { return slices.Clone(a.roles[staff]) }

// Scope returns the partners for which a user has a permission. If there are none, the result ok is
// false.
func (a *Access) Scope(staff uuid.UUID, p Permission) (sc scope.Scope, ok bool) {
	if len(a.roles[staff]) == 0 {
		return scope.Scope{}, false
	}
	if known, ok := a.decided.Load(decision{staff, p}); ok {
		sc = known.(scope.Scope)
	} else {
		sc = a.decide(staff, p)
		a.decided.Store(decision{staff, p}, sc)
	}
	return sc, sc.All() || len(sc.IDs()) > 0
}

func (a *Access) decide(staff uuid.UUID, p Permission) scope.Scope {
	if a.allows(staff, everywhere, p) {
		return scope.Everywhere
	}
	var partners []uuid.UUID
	for _, row := range a.roles[staff] {
		if row.PartnerID != nil && !slices.Contains(partners, *row.PartnerID) && a.allows(staff, row.PartnerID.String(), p) {
			partners = append(partners, *row.PartnerID)
		}
	}
	return scope.Partners(partners...)
}

// allows reports whether a user has a permission. The parameter dom is either the id of a partner or the
// constant everywhere, which stands for all partners. If the enforcer fails, allows returns false.
func (a *Access) allows(staff uuid.UUID, dom string, p Permission) bool {
	ok, err := a.enforcer.Enforce(staff.String(), dom, p.Object, p.Action)
	return err == nil && ok
}

// Grant is a permission that a user has, with the policy rule that grants the permission. If the
// permission is limited to one partner, Partner is the id of that partner.
type Grant struct {
	PolicyRule
	Partner *uuid.UUID // nil for all partners
}

// Explain lists a user's permissions and the rules that grant them, in the order of the user's roles.
// The permissions of each role are in the order of the policy.
func (a *Access) Explain(staff uuid.UUID) (all []Grant) {
	for _, row := range a.roles[staff] {
		for _, line := range a.policy {
			if line.Role == row.Role && a.allows(staff, domain(row.PartnerID), line.Permission) {
				all = append(all, Grant{line, row.PartnerID})
			}
		}
	}
	return all
}

// RolesGranting lists the roles that grant a permission.
func (a *Access) RolesGranting(p Permission) (roles []models.Role) {
	for _, line := range a.policy {
		if line.Permission == p {
			roles = append(roles, line.Role)
		}
	}
	return roles
}
