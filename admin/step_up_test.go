package admin

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	payoutpages "github.com/pingpost/pingpost/admin/payouts"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// What docs/security.md promises a step-up for changes nothing without a proof, and does
// what it is for with one.
func TestStepUp(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	partner := web.PartnerURL(c.harbour.ID)
	invited, err := c.house.staff.Invite(t.Context(), audit.Operator, staff.NewPerson{Email: "gus@example.com", Name: "Gus", Roles: []models.StaffRole{{Role: models.Finance}}})
	if err != nil {
		t.Fatal(err)
	}
	gone := c.person(t, "gone@example.com", models.StaffRole{Role: models.Finance})
	if err := c.house.staff.Deactivate(t.Context(), audit.Operator, gone.ID, gone.RowVersion); err != nil {
		t.Fatal(err)
	}
	unnamed, err := c.options.Partners.Create(t.Context(), partners.NewPartner{Slug: "unnamed", Name: "Unnamed"})
	if err != nil {
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
		{"inviting again", models.Administrator, web.StaffURL(invited.ID) + "/invite", nil, "staff.invite_again"},
		{"reactivating", models.Administrator, web.StaffURL(gone.ID) + "/reactivate", url.Values{"version": {"@staff"}}, "staff.reactivate"},
		{"a partner that need not sign", models.AccountManager, "/partners/new", url.Values{"slug": {"off-one"}, "name": {"Off"}, "signing": {"off"}}, "partner.create"},
		{"a partner whose signatures are only reported", models.AccountManager, "/partners/new", url.Values{"slug": {"report-one"}, "name": {"Report"}, "signing": {"report_only"}}, "partner.create"},
		{"an account that need not sign", models.AccountManager, partner + "/accounts/new", url.Values{"identifier": {"OFF-1"}, "signing": {"off"}}, "account.create"},
		{"the name of a partner without a legal name", models.AccountManager, web.PartnerURL(unnamed.ID) + "/details", url.Values{"name": {"Another"}, "version": {"1"}}, "partner.details"},
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

// The other promises: without a proof nothing is done. With one, the tests of each form
// have it.
func TestStepUpIsNeeded(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	c.works(t)
	partner := web.PartnerURL(c.harbour.ID)
	manager := c.as(t, models.AccountManager)
	for _, label := range []string{"first", "second"} {
		if p := manager.post(t, partner+"/secrets/new", url.Values{"label": {label}}); p.status != http.StatusOK {
			t.Fatalf("%d %s", p.status, p.text())
		}
	}
	secret := partner + "/secrets/" + id.Format(id.Secret, testkit.Value[uuid.UUID](t, c.Database, `SELECT id FROM signing_secrets WHERE label = 'first'`))
	account := id.Format(id.Account, c.harbour.account.ID)
	ret := c.post(t, "/payouts/returns/new", url.Values{"lead": {leadID(c.leads[1])}, "reason": {"duplicate"}, "evidence": {"Sold before"}}).location()
	approved := c.prepared(t, "0")
	if p := c.other(t, "fay@example.com").post(t, approved+"/approve", url.Values{"version": {"2"}}); p.location() != approved {
		t.Fatalf("%d %s", p.status, p.text())
	}
	auditor := "/staff/" + c.staffID(models.Auditor)
	version := func(v string) url.Values { return url.Values{"version": {v}} }
	for path, one := range map[string]struct {
		role models.Role
		form url.Values
	}{
		auditor + "/roles":               {models.Administrator, with(version("1"), "role", "finance")},
		auditor + "/deactivate":          {models.Administrator, with(version("1"), "name", "auditor@example.com")},
		auditor + "/reset-second-factor": {models.Administrator, url.Values{"name": {"auditor@example.com"}}},
		partner + "/secrets/new":         {models.AccountManager, url.Values{"label": {"third"}}},
		partner + "/secrets/rotate":      {models.AccountManager, url.Values{"label": {"third"}, "overlap": {"24h"}, "force": {"yes"}}},
		secret + "/retire":               {models.AccountManager, url.Values{"when": {"24h"}}},
		secret + "/revoke":               {models.AccountManager, url.Values{"name": {"harbour-leads"}}},
		partner + "/signing":             {models.AccountManager, with(version("2"), "signing", "off")},
		partner + "/accounts/" + account: {models.AccountManager, url.Values{"version": {"1"}, "name": {"Main"}, "signing": {"off"}, "status": {"active"}}},
		partner + "/prices":              {models.PricingManager, with(version("0"), "adjustment", "5")},
		"/payouts/adjust": {models.Finance, url.Values{"own": {id.Format(id.Adjustment, c.options.Payouts.NewAdjustmentID())}, "partner": {"harbour-leads"},
			"account": {account}, "amount": {"1.00"}, "currency": {"GBP"}, "why": {"Bonus"}}},
		ret + "/accept":      {models.Finance, url.Values{"answer": {"Agreed"}}},
		ret + "/refuse":      {models.Finance, url.Values{"answer": {"No"}}},
		"/payouts/runs/new":  {models.Finance, url.Values{"currency": {"EUR"}, "cutoff": {c.time.Now().Format(payoutpages.CutoffForm)}}},
		approved + "/pay":    {models.Finance, url.Values{"version": {"3"}, "reference": {"BANK-1"}, "name": {"65.60"}}},
		approved + "/cancel": {models.Finance, with(version("3"), "reason", "Wrong month")},
	} {
		b := c.as(t, one.role)
		c.time.Advance(11 * time.Minute)
		before := c.count(t, "audit_events", "outcome = 'done'")
		p := b.post(t, path, one.form)
		if n := c.count(t, "audit_events", "outcome = 'done'"); p.status != http.StatusUnprocessableEntity || n != before || !strings.Contains(p.body, `name="proof"`) {
			t.Errorf("%s: %d, %d events: %s", path, p.status, n-before, p.text())
		}
	}
}

// with is a form with another field.
func with(form url.Values, name, value string) url.Values {
	all := maps.Clone(form)
	all.Set(name, value)
	return all
}
