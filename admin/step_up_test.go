package admin_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	payoutpages "github.com/pingpost/pingpost/admin/payouts"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// TestStepUp makes changes that, according to docs/explanation/security.md, require a step-up. It
// makes each one first without a step-up and then with one.
func TestStepUp(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	partner := web.PartnerURL(c.Harbour.ID)
	invited, err := c.Console.StaffService.By(audit.Operator).Invite(t.Context(), staff.NewMember{
		Email: "gus@example.com",
		Name:  "Gus",
		Roles: []models.StaffRole{{Role: models.Finance}},
	})
	if err != nil {
		t.Fatal(err)
	}
	gone := c.AddStaff(t, "gone@example.com", models.StaffRole{Role: models.Finance})
	if err := c.Console.StaffService.By(audit.Operator).Deactivate(t.Context(), gone.ID, gone.RowVersion); err != nil {
		t.Fatal(err)
	}
	unnamed, err := c.Options.Partners.Create(t.Context(), partners.NewPartner{Slug: "unnamed", Name: "Unnamed"})
	if err != nil {
		t.Fatal(err)
	}
	details := url.Values{"name": {c.Harbour.Name}, "legal_name": {"Another Limited"}}
	for _, input := range []struct {
		name   string
		role   models.Role
		path   string
		form   url.Values
		action string // in the audit log
	}{
		{"inviting", models.Administrator, "/staff/invite", url.Values{
			"email": {"hal@example.com"},
			"name":  {"Hal"},
			"role":  {"auditor"},
		}, "staff.invite"},
		{"inviting again", models.Administrator, web.StaffURL(invited.ID) + "/invite", nil, "staff.invite_again"},
		{"reactivating", models.Administrator, web.StaffURL(gone.ID) + "/reactivate",
			url.Values{"version": {"@staff"}}, "staff.reactivate"},
		{"partner that need not sign", models.AccountManager, "/partners/new", url.Values{
			"slug":    {"off-one"},
			"name":    {"Off"},
			"signing": {"off"},
		}, "partner.create"},
		{"partner whose signatures are only reported", models.AccountManager, "/partners/new", url.Values{
			"slug":    {"report-one"},
			"name":    {"Report"},
			"signing": {"report_only"},
		}, "partner.create"},
		{"account that need not sign", models.AccountManager, partner + "/accounts/new", url.Values{
			"identifier": {"OFF-1"},
			"signing":    {"off"},
		}, "account.create"},
		{"name of a partner without a legal name", models.AccountManager, web.PartnerURL(unnamed.ID) + "/details",
			url.Values{"name": {"Another"}, "version": {"1"}}, "partner.details"},
		{"legal name", models.AccountManager, partner + "/details", with(details, "version", "@partner"), "partner.details"},
	} {
		t.Run(input.name, func(t *testing.T) {
			b := c.SignedInAs(t, input.role)
			form := maps.Clone(input.form)
			switch form.Get("version") {
			case "@staff":
				form.Set("version",
					testkit.Value[string](t, c.Database, `SELECT row_version::text FROM staff WHERE id = $1`, gone.ID))
			case "@partner":
				form.Set("version",
					testkit.Value[string](t, c.Database, `SELECT row_version::text FROM partners WHERE id = $1`, c.Harbour.ID))
			}
			c.Time.Advance(11 * time.Minute)
			events := func() int { return c.Count(t, "audit_events", "outcome = 'done' AND action = $1", input.action) }
			before := events()
			for i, proof := range [][]string{nil, {"wrong"}} {
				if form == nil {
					form = url.Values{}
				}
				if proof != nil {
					form["proof"] = proof
				}
				p := b.Post(t, input.path, form)
				if p.Status != http.StatusUnprocessableEntity || !strings.Contains(p.Body, `name="proof"`) || events() != before {
					t.Errorf("proof %d: got %d and %d events, want 422 and 0: %s", i, p.Status, events()-before, p.Text())
				}
			}
			form.Set("proof", admintest.Password)
			if p := b.Post(t, input.path, form); p.Status >= http.StatusBadRequest || events() != before+1 {
				t.Errorf("with a proof: got %d and %d events, want 1 event: %s", p.Status, events()-before, p.Text())
			}
		})
	}
	// These changes require no step-up.
	b := c.SignedInAs(t, models.AccountManager)
	c.Time.Advance(11 * time.Minute)
	for path, form := range map[string]url.Values{
		"/partners/new":           {"slug": {"signing-one"}, "name": {"Signing"}, "signing": {"default"}},
		partner + "/accounts/new": {"identifier": {"SIGNING-1"}, "signing": {"required"}},
		partner + "/details": {
			"name":       {"Harbour of Leads"},
			"legal_name": {"Another Limited"},
			"version": {testkit.Value[string](t, c.Database, `SELECT row_version::text FROM partners WHERE id = $1`,
				c.Harbour.ID)},
		},
	} {
		if p := b.Post(t, path, form); p.Status != http.StatusSeeOther {
			t.Errorf("%s: %d %s", path, p.Status, p.Text())
		}
	}
	if n := c.Count(t, "partners", "legal_name = 'Another Limited' AND name = 'Harbour of Leads' AND id::text = $1", c.Harbour.ID.String()); n != 1 {
		t.Errorf("got %d partners %s with the new names, want 1", n, id.Format(id.Partner, c.Harbour.ID))
	}
	c.CheckAuditLog(t)
}

// TestStepUpIsRequired makes further changes without a step-up. The tests for each form make them with a
// step-up.
func TestStepUpIsRequired(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	c.RunJobs(t)
	partner := web.PartnerURL(c.Harbour.ID)
	manager := c.SignedInAs(t, models.AccountManager)
	for _, label := range []string{"first", "second"} {
		if p := manager.Post(t, partner+"/secrets/new", url.Values{"label": {label}}); p.Status != http.StatusOK {
			t.Fatalf("%d %s", p.Status, p.Text())
		}
	}
	secret := partner + "/secrets/" + id.Format(id.Secret,
		testkit.Value[uuid.UUID](t, c.Database, `SELECT id FROM signing_secrets WHERE label = 'first'`))
	account := id.Format(id.Account, c.Harbour.Account.ID)
	ret := c.Post(t, "/payouts/returns/new", url.Values{
		"lead":     {admintest.LeadID(c.Leads[1])},
		"reason":   {"duplicate"},
		"evidence": {"Sold before"},
	}).Location()
	adjustment := c.Post(t, "/payouts/adjust", url.Values{
		"own":      {id.Format(id.Adjustment, c.Options.Payouts.NewAdjustmentID())},
		"account":  {account},
		"amount":   {"500.01"},
		"currency": {"GBP"},
		"why":      {"Bonus"},
	}).Location()
	approved := c.PreparedRun(t, "0")
	c.SignInAnotherUser(t, "fay@example.com").Post(t, approved+"/approve", url.Values{"version": {"2"}}).ExpectRedirect(t, approved)
	auditor := "/staff/" + c.StaffID(models.Auditor)
	version := func(v string) url.Values { return url.Values{"version": {v}} }
	for path, want := range map[string]struct {
		role models.Role
		form url.Values
	}{
		auditor + "/roles":               {models.Administrator, with(version("1"), "role", "finance")},
		auditor + "/deactivate":          {models.Administrator, with(version("1"), "name", "auditor@example.com")},
		auditor + "/reset-second-factor": {models.Administrator, url.Values{"name": {"auditor@example.com"}}},
		partner + "/secrets/new":         {models.AccountManager, url.Values{"label": {"third"}}},
		partner + "/secrets/rotate": {models.AccountManager, url.Values{
			"label":   {"third"},
			"overlap": {"24h"},
			"force":   {"yes"},
		}},
		secret + "/expire":   {models.AccountManager, url.Values{"when": {"24h"}}},
		secret + "/revoke":   {models.AccountManager, url.Values{"name": {"harbour-leads"}}},
		partner + "/signing": {models.AccountManager, with(with(version("2"), "signing", "off"), "confirmed", "off")},
		partner + "/accounts/" + account: {models.AccountManager, url.Values{
			"version": {"1"},
			"name":    {"Main"},
			"signing": {"off"}, "confirmed": {"off"},
			"status": {"active"},
		}},
		partner + "/prices": {models.PricingManager, with(version("0"), "adjustment", "5")},
		"/payouts/adjust": {models.Finance, url.Values{
			"own":      {id.Format(id.Adjustment, c.Options.Payouts.NewAdjustmentID())},
			"partner":  {"harbour-leads"},
			"account":  {account},
			"amount":   {"1.00"},
			"currency": {"GBP"},
			"why":      {"Bonus"},
		}},
		adjustment + "/approve": {models.Finance, nil},
		adjustment + "/reject":  {models.Finance, url.Values{"answer": {"No"}}},
		ret + "/accept":         {models.Finance, url.Values{"answer": {"Agreed"}}},
		ret + "/reject":         {models.Finance, url.Values{"answer": {"No"}}},
		"/payouts/runs/new": {models.Finance, url.Values{
			"currency": {"EUR"},
			"cutoff":   {c.Time.Now().Format(payoutpages.CutoffForm)},
		}},
		approved + "/pay": {models.Finance, url.Values{
			"version":   {"3"},
			"reference": {"BANK-1"},
			"name":      {"65.60"},
		}},
		approved + "/cancel": {models.Finance, with(version("3"), "reason", "Wrong month")},
	} {
		b := c.SignedInAs(t, want.role)
		c.Time.Advance(11 * time.Minute)
		before := c.Count(t, "audit_events", "outcome = 'done'")
		p := b.Post(t, path, want.form)
		if n := c.Count(t, "audit_events", "outcome = 'done'"); p.Status != http.StatusUnprocessableEntity ||
			n != before || !strings.Contains(p.Body, `name="proof"`) {
			t.Errorf("%s: got %d and %d events, want 422 and 0: %s", path, p.Status, n-before, p.Text())
		}
	}
}

// with returns a copy of a form with a field set.
func with(form url.Values, name, value string) url.Values {
	all := maps.Clone(form)
	all.Set(name, value)
	return all
}
