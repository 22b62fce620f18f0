package staff_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

func (h staffPlatform) find(t *testing.T, person uuid.UUID) staff.Member {
	t.Helper()
	p, err := h.Find(t.Context(), id.Format(id.Staff, person))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (h staffPlatform) deactivate(t *testing.T, person uuid.UUID) error {
	t.Helper()
	return h.By(audit.Operator).Deactivate(t.Context(), person, h.find(t, person).RowVersion)
}

func (h staffPlatform) reactivate(t *testing.T, person uuid.UUID) {
	t.Helper()
	if err := h.By(audit.Operator).Reactivate(t.Context(), person, h.find(t, person).RowVersion); err != nil {
		t.Fatal(err)
	}
}

func TestInvitation(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	invite := func(n staff.NewMember) (staff.Invited, error) { return h.By(audit.Operator).Invite(t.Context(), n) }
	ada, err := invite(staff.NewMember{
		Email: " ada@example.com ",
		Name:  " Ada ",
		Roles: everywhere(models.Administrator, models.Administrator),
	})
	if err != nil || ada.Email != "ada@example.com" || ada.Name != "Ada" || ada.Token == "" {
		t.Fatalf("%+v, %v", ada, err)
	}
	accept := func(token, with string) error {
		_, err := h.By(at(home)).Accept(t.Context(), token, with)
		return err
	}
	for bad, want := range map[string]string{
		"short":                  "password",
		strings.Repeat("x", 257): "password",
		"":                       "password",
		"my ada@example.com one": "password",
		"a\x00bcdefghijklm":      "password",
	} {
		if err := accept(ada.Token, bad); reason(err) != want {
			t.Errorf("accepting with password %.20q: %v, want %s", bad, err, want)
		}
	}
	if err := accept("another token", password); reason(err) != "invitation" {
		t.Errorf("accepting with an unknown token: %v, want invitation", err)
	}
	again, err := h.By(audit.Operator).RenewInvitation(t.Context(), ada.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := accept(ada.Token, password); reason(err) != "invitation" {
		t.Errorf("accepting a replaced invitation: %v, want invitation", err)
	}
	if err := accept(again.Token, password); err != nil {
		t.Fatal(err)
	}
	if err := accept(again.Token, password); reason(err) != "invitation" {
		t.Errorf("accepting twice: %v, want invitation", err)
	}
	if _, err := h.By(audit.Operator).RenewInvitation(t.Context(), ada.ID); reason(err) != "accepted" {
		t.Errorf("renewing an accepted invitation: %v, want accepted", err)
	}
	h.signIn(t, "ada@example.com")

	late, err := invite(staff.NewMember{Email: "late@example.com", Name: "Late", Roles: everywhere(models.Auditor)})
	if err != nil {
		t.Fatal(err)
	}
	h.time.Advance(72 * time.Hour)
	if err := accept(late.Token, password); reason(err) != "invitation" {
		t.Errorf("accepting after three days: %v, want invitation", err)
	}
	partner := uuid.New()
	for name, n := range map[string]staff.NewMember{
		"email":            {Email: "no address", Name: "X", Roles: everywhere(models.Auditor)},
		"email, with name": {Email: "X <x@example.com>", Name: "X", Roles: everywhere(models.Auditor)},
		"email, long":      {Email: strings.Repeat("x", 250) + "@example.com", Name: "X", Roles: everywhere(models.Auditor)},
		"name":             {Email: "x@example.com", Name: " ", Roles: everywhere(models.Auditor)},
		"name, control":    {Email: "x@example.com", Name: "a\x00b", Roles: everywhere(models.Auditor)},
		"role":             {Email: "x@example.com", Name: "X"},
		"role, unknown":    {Email: "x@example.com", Name: "X", Roles: everywhere("owner")},
		"role, scope": {
			Email: "x@example.com", Name: "X", Roles: []models.StaffRole{{Role: models.Administrator, PartnerID: &partner}},
		},
	} {
		if _, err := invite(n); !hasCode(err, apperr.Invalid) {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	if _, err := invite(staff.NewMember{Email: "ADA@example.com", Name: "Ada", Roles: everywhere(models.Auditor)}); !hasCode(err, apperr.Conflict) {
		t.Errorf("inviting the same address twice: %v, want a conflict", err)
	}
	h.verifyAuditLog(t)
}

func TestRoles(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	ada, bob := h.addUser(t, "ada@example.com", models.Administrator), h.addUser(t, "bob@example.com", models.Auditor)
	actor := func(p models.Staff) audit.Actor { return audit.Actor{Staff: p.ID, Name: p.Email} }
	set := func(by audit.Actor, person models.Staff, roles ...models.Role) error {
		return h.By(by).SetRoles(t.Context(), person.ID, h.find(t, person.ID).RowVersion, everywhere(roles...))
	}
	if err := set(actor(ada), bob, models.Auditor, models.Finance); err != nil {
		t.Fatal(err)
	}
	access, err := authz.Load(t.Context(), h.DB)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := access.Scope(bob.ID, authz.Permission{Object: "payouts", Action: "write"}); !ok {
		t.Error("a new role is not effective")
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"own new role":                        {set(actor(ada), ada, models.Administrator, models.Finance), "own_role"},
		"last administrator":                  {set(audit.Operator, ada, models.Auditor), "last_administrator"},
		"own last role":                       {set(actor(ada), ada, models.Auditor), "own_role"},
		"deactivating the last administrator": {h.deactivate(t, ada.ID), "last_administrator"},
		"deactivating oneself":                {h.By(actor(ada)).Deactivate(t.Context(), ada.ID, 1), "self"},
		"stale version": {
			h.By(actor(ada)).SetRoles(t.Context(), bob.ID, 1, everywhere(models.Auditor)), "changed",
		},
		"deactivating with a stale version": {h.By(actor(ada)).Deactivate(t.Context(), bob.ID, 1), "changed"},
		"unknown user": {
			h.By(actor(ada)).SetRoles(t.Context(), uuid.New(), 1, everywhere(models.Auditor)), "staff",
		},
		"no roles": {set(actor(ada), bob), "role"},
	} {
		if reason(c.err) != c.want {
			t.Errorf("%s: %v, want %s", name, c.err, c.want)
		}
	}
	if got := h.find(t, ada.ID).Roles; len(got) != 1 || got[0].Role != models.Administrator {
		t.Errorf("rejected changes had an effect: %+v", got)
	}
	if err := set(actor(ada), bob, models.Administrator); err != nil {
		t.Fatal(err)
	}
	if err := set(actor(bob), ada, models.Auditor); err != nil {
		t.Errorf("another administrator removes the role: %v", err)
	}
	h.verifyAuditLog(t)
}

// If two administrators remove each other's role at the same time, one of them remains an
// administrator.
func TestKeepsLastAdministrator(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	for range 5 {
		ada, bob := h.addUser(t, "ada@example.com", models.Administrator), h.addUser(t, "bob@example.com",
			models.Administrator)
		h.Exec(t, `DELETE FROM staff_roles`)
		h.Exec(t, `INSERT INTO staff_roles SELECT id, 'administrator' FROM staff`)
		var rejected atomic.Int64
		var all sync.WaitGroup
		for _, pair := range [][2]models.Staff{{ada, bob}, {bob, ada}} {
			version := h.find(t, pair[1].ID).RowVersion
			all.Go(func() {
				err := h.By(audit.Actor{Staff: pair[0].ID, Name: pair[0].Email}).SetRoles(t.Context(), pair[1].ID,
					version, everywhere(models.Auditor))
				if reason(err) == "last_administrator" {
					rejected.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if left := testkit.Value[int](t, h.Database, `SELECT count(*) FROM staff_roles WHERE role = 'administrator'`); left != 1 || rejected.Load() != 1 {
			t.Fatalf("%d administrators left and %d changes rejected, want 1 and 1", left, rejected.Load())
		}
	}
}

func TestPasswordChange(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	h.addUser(t, "ada@example.com", models.Administrator)
	token, session := h.signIn(t, "ada@example.com")
	other, _ := h.signIn(t, "ada@example.com")
	by := audit.Actor{Staff: session.Staff.ID, Name: session.Staff.Email}
	if err := h.By(by).SetPassword(t.Context(), session, "wrong", "a new long password"); reason(err) != "confirmation" {
		t.Errorf("wrong old password: %v, want confirmation", err)
	}
	_, secret, _ := h.enrol(t, token)
	h.time.Advance(30 * time.Second)
	if err := h.By(by).SetPassword(t.Context(), h.session(t, token), h.code(t, secret),
		"a new long password"); reason(err) != "confirmation" {
		t.Errorf("code instead of the old password: %v, want confirmation", err)
	}
	if err := h.By(by).SetPassword(t.Context(), session, password, "short"); reason(err) != "password" {
		t.Errorf("short new password: %v, want password", err)
	}
	if err := h.By(by).SetPassword(t.Context(), session, password, "a new long password"); err != nil {
		t.Fatal(err)
	}
	h.session(t, token)
	h.expectEnded(t, other, "the password was changed elsewhere")
	if _, _, err := h.login(t, "ada@example.com", password, home); reason(err) != "login" {
		t.Errorf("login with the old password: %v, want login", err)
	}
	if _, _, err := h.login(t, "ada@example.com", "a new long password", home); err != nil {
		t.Error(err)
	}
	if n := testkit.Value[int](t, h.Database, `SELECT count(*) FROM audit_events WHERE coalesce(before::text, '') || coalesce(after::text, '') || reason LIKE '%password"%' OR after::text LIKE '%argon2%'`); n != 0 {
		t.Error("the audit log contains a password")
	}
}
