package authz

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/models"
)

func access(t testing.TB, rows ...models.StaffRole) *Access {
	t.Helper()
	a, err := New(rows)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestScope(t *testing.T) {
	ada, bob, eve := uuid.New(), uuid.New(), uuid.New()
	mine, theirs := uuid.New(), uuid.New()
	a := access(t,
		models.StaffRole{StaffID: ada, Role: models.Administrator},
		models.StaffRole{StaffID: bob, Role: models.AccountManager, PartnerID: &mine},
		models.StaffRole{StaffID: bob, Role: models.Auditor, PartnerID: &theirs},
	)
	for _, c := range []struct {
		name       string
		staff      uuid.UUID
		permission Permission
		ok         bool
		sees       []uuid.UUID
	}{
		{"administrator, staff", ada, Permission{"staff", "write"}, true, []uuid.UUID{mine, theirs, uuid.New()}},
		{"administrator, secrets", ada, Permission{"secrets", "write"}, false, nil},
		{"account manager of one partner", bob, Permission{"secrets", "write"}, true, []uuid.UUID{mine}},
		{"roles at two partners", bob, Permission{"partners", "read"}, true, []uuid.UUID{mine, theirs}},
		{"permission of one of two roles", bob, Permission{"payouts", "read"}, true, []uuid.UUID{theirs}},
		{"permission of no role", bob, Permission{"staff", "write"}, false, nil},
		{"no roles", eve, Permission{"overview", "read"}, false, nil},
		{"zero id", uuid.Nil, Permission{"overview", "read"}, false, nil},
		{"unknown object", ada, Permission{"everything", "read"}, false, nil},
		{"wildcards", ada, Permission{"*", "*"}, false, nil},
	} {
		sc, ok := a.Scope(c.staff, c.permission)
		if ok != c.ok {
			t.Errorf("%s: Scope ok = %t, want %t", c.name, ok, c.ok)
		}
		for _, partner := range []uuid.UUID{mine, theirs} {
			if got := sc.Allows(partner); got != slices.Contains(c.sees, partner) {
				t.Errorf("%s: Allows for a partner = %t, want %t", c.name, got, !got)
			}
		}
	}
}

// A user has exactly the permissions that the policy grants to the user's roles, for the partners
// that each role applies to. Explain lists the same permissions.
func TestDecisionsFollowPolicy(t *testing.T) {
	policy, err := Policy()
	if err != nil {
		t.Fatal(err)
	}
	partners := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	rapid.Check(t, func(t *rapid.T) {
		staff := uuid.New()
		var rows []models.StaffRole
		for range rapid.IntRange(0, 4).Draw(t, "roles") {
			row := models.StaffRole{StaffID: staff, Role: rapid.SampledFrom(models.Roles[:]).Draw(t, "role")}
			if n := rapid.IntRange(0, len(partners)).Draw(t, "where"); n < len(partners) {
				row.PartnerID = &partners[n]
			}
			rows = append(rows, row)
		}
		a, err := New(rows)
		if err != nil {
			t.Fatal(err)
		}
		may := func(p Permission, where *uuid.UUID) bool {
			return slices.ContainsFunc(rows, func(r models.StaffRole) bool {
				return (r.PartnerID == nil || where != nil && *r.PartnerID == *where) &&
					slices.ContainsFunc(policy, func(l PolicyRule) bool { return l.Role == r.Role && l.Permission == p })
			})
		}
		explained := a.Explain(staff)
		for _, line := range policy {
			sc, ok := a.Scope(staff, line.Permission)
			if sc.All() != may(line.Permission, nil) {
				t.Fatalf("%s for all partners = %t, want %t", line.Permission, sc.All(), !sc.All())
			}
			for _, partner := range partners {
				want := may(line.Permission, &partner)
				if sc.Allows(partner) != want || want && !ok {
					t.Fatalf("%s for a partner = %t, want %t", line.Permission, sc.Allows(partner), want)
				}
				listed := slices.ContainsFunc(explained, func(g Grant) bool {
					return g.Permission == line.Permission && (g.Partner == nil || *g.Partner == partner)
				})
				if listed != want {
					t.Fatalf("Explain lists %s for a partner = %t, want %t", line.Permission, listed, want)
				}
			}
		}
	})
}

func TestPolicy(t *testing.T) {
	lines, err := Policy()
	if err != nil || len(lines) < 20 {
		t.Fatalf("Policy() returned %d rules, %v, want at least 20", len(lines), err)
	}
	for _, role := range models.Roles {
		if !slices.ContainsFunc(lines, func(l PolicyRule) bool { return l.Role == role }) {
			t.Errorf("%s has no permissions", role)
		}
	}
	for _, line := range lines {
		if line.Role == models.Auditor && !slices.Contains([]string{"read", "verify", "find", "export", "evidence"}, line.Action) {
			t.Errorf("auditor has a permission that changes something: %s", line.Permission)
		}
	}
	for name, text := range map[string]string{
		"unknown role": "p, owner, staff, read",
		"missing part": "p, auditor, staff",
		"empty part":   "p, auditor, , read",
		"wrong type":   "g, auditor, staff, read",
		"duplicate":    "p, auditor, staff, read\n\np, auditor, staff, read",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v, want an error with the line number", name, err)
		}
	}
}

func TestRolesGranting(t *testing.T) {
	a := access(t)
	if got := a.RolesGranting(Permission{"pricing", "publish"}); !slices.Equal(got, []models.Role{models.PricingManager}) {
		t.Errorf("RolesGranting = %v, want pricing_manager", got)
	}
	if sc, ok := a.Scope(uuid.New(), Permission{"overview", "read"}); ok || sc.Allows(uuid.New()) || sc.All() {
		t.Error("a user without roles has a permission")
	}
	if sc := (scope.Scope{}); sc.All() {
		t.Error("the zero scope includes all partners")
	}
}

func BenchmarkScope(b *testing.B) {
	var rows []models.StaffRole
	staff := uuid.New()
	for range 200 {
		partner := uuid.New()
		rows = append(rows, models.StaffRole{StaffID: staff, Role: models.AccountManager, PartnerID: &partner})
	}
	a := access(b, rows...)
	for b.Loop() {
		if sc, ok := a.Scope(staff, Permission{"secrets", "write"}); !ok || len(sc.IDs()) != 200 {
			b.Fatal("not allowed")
		}
	}
}
