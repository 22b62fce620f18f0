package admin

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// What docs/security.md promises a step-up for changes nothing without a proof, and does
// what it is for with one.
func TestStepUp(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	partner := partnerURL(c.harbour.ID)
	invited, err := c.house.staff.Invite(t.Context(), audit.Operator, staff.NewPerson{Email: "gus@example.com", Name: "Gus", Roles: []models.StaffRole{{Role: models.Finance}}})
	if err != nil {
		t.Fatal(err)
	}
	gone := c.person(t, "gone@example.com", models.StaffRole{Role: models.Finance})
	if err := c.house.staff.Deactivate(t.Context(), audit.Operator, gone.ID, gone.RowVersion); err != nil {
		t.Fatal(err)
	}
	details := url.Values{"name": {c.harbour.Name}, "legal_name": {"Another Limited"}}
	for _, one := range []struct {
		name   string
		role   models.Role
		path   string
		form   url.Values
		action string // in the audit trail
	}{
		{"inviting", models.Administrator, "/staff/invite", url.Values{"email": {"hal@example.com"}, "name": {"Hal"}, "role": {"auditor"}}, "staff.invite"},
		{"inviting again", models.Administrator, staffURL(invited.ID) + "/invite", nil, "staff.invite_again"},
		{"reactivating", models.Administrator, staffURL(gone.ID) + "/reactivate", url.Values{"version": {"@staff"}}, "staff.reactivate"},
		{"a partner that need not sign", models.AccountManager, "/partners/new", url.Values{"slug": {"off-one"}, "name": {"Off"}, "signing": {"off"}}, "partner.create"},
		{"a partner whose signatures are only reported", models.AccountManager, "/partners/new", url.Values{"slug": {"report-one"}, "name": {"Report"}, "signing": {"report_only"}}, "partner.create"},
		{"an account that need not sign", models.AccountManager, partner + "/accounts/new", url.Values{"identifier": {"OFF-1"}, "signing": {"off"}}, "account.create"},
		{"a legal name", models.AccountManager, partner + "/details", with(details, "version", "@partner"), "partner.details"},
	} {
		t.Run(one.name, func(t *testing.T) {
			b := c.as(t, one.role)
			form := maps.Clone(one.form)
			switch form.Get("version") {
			case "@staff":
				form.Set("version", testkit.Value[string](t, c.Database, `SELECT row_version::text FROM staff WHERE id = $1`, gone.ID))
			case "@partner":
				form.Set("version", testkit.Value[string](t, c.Database, `SELECT row_version::text FROM partners WHERE id = $1`, c.harbour.ID))
			}
			c.time.Advance(11 * time.Minute)
			events := func() int { return c.count(t, "audit_events", "outcome = 'done' AND action = $1", one.action) }
			before := events()
			for i, proof := range [][]string{nil, {"wrong"}} {
				if form == nil {
					form = url.Values{}
				}
				if proof != nil {
					form["proof"] = proof
				}
				p := b.post(t, one.path, form)
				if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `name="proof"`) || events() != before {
					t.Errorf("proof %d: %d, %d events: %s", i, p.status, events()-before, p.text())
				}
			}
			form.Set("proof", password)
			if p := b.post(t, one.path, form); p.status >= http.StatusBadRequest || events() != before+1 {
				t.Errorf("with a proof: %d, %d events: %s", p.status, events()-before, p.text())
			}
		})
	}
	// What needs none is not asked for one.
	b := c.as(t, models.AccountManager)
	c.time.Advance(11 * time.Minute)
	for path, form := range map[string]url.Values{
		"/partners/new":           {"slug": {"signing-one"}, "name": {"Signing"}, "signing": {"default"}},
		partner + "/accounts/new": {"identifier": {"SIGNING-1"}, "signing": {"required"}},
		partner + "/details": {"name": {"Harbour of Leads"}, "legal_name": {"Another Limited"},
			"version": {testkit.Value[string](t, c.Database, `SELECT row_version::text FROM partners WHERE id = $1`, c.harbour.ID)}},
	} {
		if p := b.post(t, path, form); p.status != http.StatusSeeOther {
			t.Errorf("%s: %d %s", path, p.status, p.text())
		}
	}
	if n := c.count(t, "partners", "legal_name = 'Another Limited' AND name = 'Harbour of Leads' AND id::text = $1", c.harbour.ID.String()); n != 1 {
		t.Errorf("%d partners %s", n, id.Format(id.Partner, c.harbour.ID))
	}
	c.intact(t)
}

// with is a form with another field.
func with(form url.Values, name, value string) url.Values {
	all := maps.Clone(form)
	all.Set(name, value)
	return all
}
