package admin_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin"
	"github.com/pingpost/pingpost/admin/admintest"
	payoutpages "github.com/pingpost/pingpost/admin/payouts"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
	payoutsview "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

// creatingForm is a form that creates an object, with a query that counts the objects.
type creatingForm struct {
	role   models.Role
	page   string // the page with the form, if it is not at the form's own URL
	path   string
	values url.Values
	count  string
	again  string // prefix of the URL that the second submission redirects to, if it is not that of the first
	unique bool   // the same values cannot be submitted twice
}

// creatingForms returns all forms that create objects, by route, and a client for each role that
// they need.
func creatingForms(
	t *testing.T, c *admintest.ConsoleWithLedger,
) (forms map[string]creatingForm, browsers map[models.Role]*admintest.Client) {
	t.Helper()
	c.Publish(t, "Dearer", admintest.PlumbersIn("IE", money.EUR, 5000))
	card, err := c.PricingManagerPrices().CreateDraft(t.Context(), "Spring", 0)
	if err != nil {
		t.Fatal(err)
	}
	partner, draft := web.PartnerURL(c.Harbour.ID), web.DraftURL(card.ID)
	browsers = map[models.Role]*admintest.Client{models.Finance: c.Client}
	for _, role := range []models.Role{models.AccountManager, models.Administrator, models.PricingManager, models.Privacy} {
		browsers[role] = c.SignedInAs(t, role)
	}
	manager := browsers[models.AccountManager]
	if p := manager.Post(t, partner+"/secrets/new", url.Values{"label": {"first"}}); p.Status != http.StatusOK {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	if p := browsers[models.Administrator].Post(t, "/staff/invite", url.Values{"email": {"new@example.com"}, "name": {"New"}, "role": {"auditor"}}); p.Status != http.StatusOK {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	invited := testkit.Value[string](t, c.Database,
		`SELECT object_id FROM audit_events WHERE action = 'staff.invite' ORDER BY id DESC LIMIT 1`)
	if _, err := c.Pool.Exec(t.Context(), `UPDATE staff SET totp_sealed = '\x01', totp_at = now() WHERE email = 'finance@example.com'`); err != nil {
		t.Fatal(err)
	}
	return map[string]creatingForm{
		"/account/recovery-codes": {
			role:  models.Finance,
			page:  "/account",
			count: `SELECT count(*) FROM audit_events WHERE action = 'staff.recovery_codes'`,
		},
		"/staff/invite": {
			role:   models.Administrator,
			values: url.Values{"email": {"gus@example.com"}, "name": {"Gus"}, "role": {"auditor"}},
			count:  `SELECT count(*) FROM staff WHERE email = 'gus@example.com'`,
			unique: true,
		},
		"/staff/{id}/invite": {
			role:  models.Administrator,
			page:  "/staff/" + invited,
			path:  "/staff/" + invited + "/invite",
			count: `SELECT count(*) FROM audit_events WHERE action = 'staff.invite_again'`,
		},
		"/leads/{id}/reveal": {
			role:   models.Finance,
			path:   "/leads/" + admintest.LeadID(c.Leads[0]) + "/reveal",
			values: url.Values{"field": {"name"}, "reason": {"legal"}, "proof": {admintest.Password}},
			count:  `SELECT count(*) FROM lead_reveals`,
		},
		"/privacy/requests/new": {
			role:   models.Privacy,
			values: url.Values{"kind": {"access"}, "received_on": {c.Time.Now().Format(time.DateOnly)}, "leads": {admintest.LeadID(c.Leads[0])}},
			count:  `SELECT count(*) FROM privacy_requests`,
		},
		"/privacy/requests/{id}/export": {
			role:   models.Privacy,
			path:   "/privacy/requests/" + admintest.PrivacyRequest(t, c.Console, c.Leads[0]) + "/export",
			values: url.Values{"proof": {admintest.Password}},
			count:  `SELECT count(*) FROM audit_events WHERE action = 'privacy_request.export'`,
		},
		"/leads/{id}/hold": {
			role:   models.Privacy,
			path:   "/leads/" + admintest.LeadID(c.Leads[0]) + "/hold",
			values: url.Values{"person": {"no"}, "reason": {"case 7"}},
			count:  `SELECT count(*) FROM legal_holds`,
		},
		"/partners/new": {
			role:   models.AccountManager,
			values: url.Values{"slug": {"new-one"}, "name": {"New One"}, "signing": {"default"}},
			count:  `SELECT count(*) FROM partners WHERE slug = 'new-one'`,
			unique: true,
		},
		"/partners/{id}/accounts/new": {
			role:   models.AccountManager,
			path:   partner + "/accounts/new",
			values: url.Values{"identifier": {"NEW-1"}, "signing": {"inherit"}},
			count:  `SELECT count(*) FROM accounts WHERE identifier = 'NEW-1'`,
			unique: true,
		},
		"/partners/{id}/link": {
			role:  models.AccountManager,
			page:  partner + "?tab=documentation",
			path:  partner + "/link",
			count: `SELECT count(*) FROM partner_links`,
		},
		"/partners/{id}/secrets/new": {
			role:   models.AccountManager,
			path:   partner + "/secrets/new",
			values: url.Values{"label": {"second"}},
			count:  `SELECT count(*) FROM signing_secrets WHERE label = 'second'`,
		},
		"/partners/{id}/secrets/rotate": {
			role:   models.AccountManager,
			path:   partner + "/secrets/rotate",
			values: url.Values{"label": {"third"}, "overlap": {"24h"}, "force": {"yes"}},
			count:  `SELECT count(*) FROM signing_secrets WHERE label = 'third'`,
		},
		"/pricing/versions/{n}/rollback": {
			role:   models.PricingManager,
			path:   "/pricing/versions/1/rollback",
			values: url.Values{"version": {"2"}, "note": {"Back"}},
			again:  "/pricing/drafts/rc_",
			count:  `SELECT count(*) FROM rate_cards WHERE copied_from = 1`,
			unique: true,
		},
		"/pricing/drafts/new": {
			role:   models.PricingManager,
			values: url.Values{"title": {"Summer"}},
			count:  `SELECT count(*) FROM rate_cards WHERE title = 'Summer'`,
		},
		"/pricing/drafts/{id}/rules/new": {
			role: models.PricingManager,
			path: draft + "/rules/new",
			values: url.Values{
				"version":  {"1"},
				"industry": {"plumber"},
				"country":  {"GB"},
				"base-GBP": {"58"},
				"note":     {"Scarce"},
			},
			count:  `SELECT count(*) FROM pricing_rules WHERE note = 'Scarce'`,
			unique: true,
		},
		"/payouts/exports": {
			role:   models.Finance,
			page:   unshown,
			values: url.Values{"currency": {"GBP"}},
			count:  `SELECT count(*) FROM exports`,
		},
		"/payouts/returns/new": {
			role: models.Finance,
			page: "/payouts/returns/new?lead=" + admintest.LeadID(c.Leads[0]),
			values: url.Values{
				"lead":     {admintest.LeadID(c.Leads[0])},
				"reason":   {"duplicate"},
				"evidence": {"Sold before"},
			},
			count:  `SELECT count(*) FROM returns`,
			unique: true,
		},
		"/payouts/runs/new": {
			role:   models.Finance,
			values: url.Values{"currency": {"GBP"}, "cutoff": {c.Time.Now().Format(payoutpages.CutoffForm)}},
			count:  `SELECT count(*) FROM payout_runs`,
			unique: true,
		},
		"/reconciliation/new": {role: models.Finance, count: `SELECT count(*) FROM reconciliations`},
	}, browsers
}

// unshown stands for the page of a form that is shown only if there are more rows than a test
// creates; see [TestExportFormHasKey].
const unshown = "-"

// submit submits the form with a key.
func (f creatingForm) submit(t testing.TB, b *admintest.Client, route, key string) admintest.Response {
	t.Helper()
	if route == "/reconciliation/new" {
		body, kind := admintest.PartnerFileForm(t, key, "harbour-leads", "a.csv", "leadId,amount\nld_01JD3Z0000000000000000000A,12.50\n")
		return b.Send(t, http.MethodPost, route, body, http.Header{"Content-Type": {kind}, "Origin": {b.Console.URL}})
	}
	values := admintest.WithFormKey(f.values)
	values.Set(ui.FormKeyField, key)
	return b.Post(t, f.path, values)
}

// created returns the number of objects.
func (f creatingForm) created(t testing.TB, c *admintest.ConsoleWithLedger) int {
	return testkit.Value[int](t, c.Database, f.count)
}

var formKeyField = regexp.MustCompile(`name="` + ui.FormKeyField + `" value="([^"]+)"`)

// TestFormCreatesOnce checks that a form that is submitted again with the same key does not create another
// object, but redirects to the first one.
func TestFormCreatesOnce(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	forms, browsers := creatingForms(t, c)
	for _, r := range admin.Routes(c.Options) {
		f, known := forms[r.Path]
		creates := strings.HasSuffix(r.Path, "/new") || r.Creates != ""
		switch {
		case r.Method != http.MethodPost:
			continue
		case creates != known || creates && r.Creates == "":
			t.Errorf("%s: creates an object %t, tested %t, Creates %q", r.Path, creates, known, r.Creates)
			continue
		case !creates:
			continue
		}
		if f.path == "" {
			f.path = r.Path
		}
		if f.page == "" {
			f.page = f.path
		}
		b := browsers[f.role]
		key := []string{"", uuid.NewString()}
		if f.page != unshown {
			shown := b.Get(t, f.page)
			if key = formKeyField.FindStringSubmatch(shown.Body); key == nil {
				t.Errorf("%s does not contain a form key: %d %s", f.page, shown.Status, shown.Text())
				continue
			}
			if again := formKeyField.FindStringSubmatch(b.Get(t, f.page).Body); again[1] == key[1] {
				t.Errorf("%s contains the same form key again", f.page)
			}
		}
		for _, bad := range []string{"", "x", uuid.Nil.String(), strings.Repeat("a", 400)} {
			if p := f.submit(t, b, r.Path, bad); p.Status != http.StatusBadRequest {
				t.Errorf("%s with key %.10q: got %d, want 400: %s", r.Path, bad, p.Status, p.Text())
			}
		}
		before := f.created(t, c)
		first := f.submit(t, b, r.Path, key[1])
		if n := f.created(t, c); n != before+1 || first.Status >= http.StatusBadRequest {
			t.Errorf("%s: got %d and %d objects, want 1 object: %s", r.Path, first.Status, n-before, first.Text())
			continue
		}
		second := f.submit(t, b, r.Path, key[1])
		if n := f.created(t, c); n != before+1 || second.Status != http.StatusSeeOther ||
			!strings.Contains(second.Location(), "submitted=") {
			t.Errorf("%s again: got %d to %q and %d objects, want a redirect and 1 object", r.Path, second.Status, second.Location(), n-before)
			continue
		}
		if p := b.Get(t, second.Location()); p.Status != http.StatusOK ||
			!slices.ContainsFunc(p.Codes(), func(c string) bool { return c == "submitted_before" || c == "shown_once" }) {
			t.Errorf("%s redirects to %s: got %d %s", r.Path, second.Location(), p.Status, p.Text())
		}
		if first.Status == http.StatusSeeOther &&
			!strings.HasPrefix(second.Location(), cmp.Or(f.again, strings.TrimSuffix(first.Location(), "/onboarding"))) {
			t.Errorf("%s redirects to %q, then to %q", r.Path, first.Location(), second.Location())
		}
		// With a new key, the form creates another object.
		if p := f.submit(t, b, r.Path, uuid.NewString()); !f.unique &&
			(f.created(t, c) != before+2 || p.Status >= http.StatusBadRequest) {
			t.Errorf("%s with another key: got %d and %d objects, want 2 objects: %s", r.Path, p.Status, f.created(t, c)-before, p.Text())
		}
	}
	c.CheckAuditLog(t)
}

// TestSimultaneousFormsCreateOnce submits each form several times at the same time. Each form must create only one
// object.
func TestSimultaneousFormsCreateOnce(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	forms, browsers := creatingForms(t, c)
	for path, f := range forms {
		if f.path == "" {
			f.path = path
		}
		b := browsers[f.role]
		key, before := uuid.NewString(), f.created(t, c)
		var group sync.WaitGroup
		pages := make([]admintest.Response, 4)
		for i := range pages {
			group.Go(func() { pages[i] = f.submit(t, b, path, key) })
		}
		group.Wait()
		again := 0
		for _, p := range pages {
			if strings.Contains(p.Location(), "submitted=") {
				again++
			}
		}
		if n := f.created(t, c); n != before+1 || again != len(pages)-1 {
			t.Errorf("%s: got %d objects and %d redirects to it, want 1 and %d: %s", path, n-before, again, len(pages)-1, answersOf(pages))
		}
	}
	c.CheckAuditLog(t)
}

func answersOf(pages []admintest.Response) (all string) {
	for _, p := range pages {
		all += fmt.Sprintf("\n%d %.200s", p.Status, p.Text())
	}
	return all
}

// TestFormKeyOfRejectedForm checks that a rejected form keeps its key, that the corrected form creates the
// object with this key, and that another user can use the same key.
func TestFormKeyOfRejectedForm(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	b, key := c.SignedInAs(t, models.AccountManager), uuid.NewString()
	form := url.Values{ui.FormKeyField: {key}, "slug": {"Not a slug"}, "name": {"New One"}, "signing": {"default"}}
	p := b.Post(t, "/partners/new", form)
	if kept := formKeyField.FindStringSubmatch(p.Body); p.Status != http.StatusUnprocessableEntity ||
		kept == nil || kept[1] != key {
		t.Fatalf("%d, key %v: %s", p.Status, kept, p.Text())
	}
	form.Set("slug", "new-one")
	if p := b.Post(t, "/partners/new", form); p.Status != http.StatusSeeOther || strings.Contains(p.Location(), "submitted=") {
		t.Errorf("%d to %q: %s", p.Status, p.Location(), p.Text())
	}
	form.Set("slug", "of-another-user")
	c.AddStaff(t, "ben@example.com", models.StaffRole{Role: models.AccountManager})
	c.Reload(t)
	if p := c.SignInAnotherUser(t, "ben@example.com").Post(t, "/partners/new", form); p.Status != http.StatusSeeOther || strings.Contains(p.Location(), "submitted=") {
		t.Errorf("same key by another user: got %d to %q: %s", p.Status, p.Location(), p.Text())
	}
	if n := c.Count(t, "partners", "slug IN ('new-one', 'of-another-user')"); n != 2 {
		t.Errorf("got %d partners, want 2", n)
	}
}

// TestExportFormHasKey renders the form for an export directly, because pages show it only for large ledgers.
func TestExportFormHasKey(t *testing.T) {
	var page strings.Builder
	v := payoutsview.LedgerView{Export: payoutsview.LedgerExport{
		CSV:   ui.Download{URL: "/payouts/ledger.csv"},
		Large: true,
	}}
	if err := payoutsview.Ledger(v).Render(ui.WithFormKey(t.Context(), "a-key"), &page); err != nil {
		t.Fatal(err)
	}
	if key := formKeyField.FindStringSubmatch(page.String()); key == nil || key[1] != "a-key" {
		t.Errorf("got key %v, want a-key", key)
	}
}
