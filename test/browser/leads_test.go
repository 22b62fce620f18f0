package browser_test

import (
	"archive/zip"
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/browser"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/evidence"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

// everyLeadPage checks the pages about leads. The users have roles that can see most of a lead's
// data.
func everyLeadPage(t *testing.T, chromium *browser.Browser) {
	s := admintest.NewConsoleWithLeads(t)
	p := chromium.Page(t, browser.Emulation{})
	signIn(s.Console, p, "finance@example.com")
	p.Open(s.URL + "/leads")
	check(p, "leads-none")
	first := s.AddLead(t, s.Harbour, admintest.JoContact, func(l *models.Lead) {
		l.PhoneFlagged, l.PartnerReference, l.SubID = true, "quote-form-7/2026-01-02/"+strings.Repeat("a1b2c3d4", 5), "meta-retargeting-uk-spring-2026"
	})
	s.AddLead(t, s.Other, admintest.JoContact, func(l *models.Lead) { l.Industry, l.QuotedPartner = "roofer", nil })
	trial := s.AddLead(t, s.Harbour, admintest.SamContact,
		func(l *models.Lead) { l.AccountID, l.Sandbox = s.Harbour.Trial.ID, true })
	erased := s.AddLead(t, s.Other, admintest.SamContact, func(l *models.Lead) { l.SecretID, l.HMACVerified = nil, false })
	eraseInBrowser(t, s.Console, chromium.Page(t, browser.Emulation{}), erased.ID)
	r, err := s.Options.Payouts.RequestReturn(t.Context(), scope.Everywhere, first.ID, models.WrongContact,
		"The number rings at a bakery.")
	if err == nil {
		err = s.Options.Payouts.AcceptReturn(t.Context(), scope.Everywhere, r.ID, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	keyless := s.AddLead(t, s.Other, admintest.SamContact, nil)
	s.Exec(t, `DELETE FROM lead_keys WHERE lead_id = $1`, keyless.ID) // the keys were not restored from a backup
	pages := []address{
		{"leads", "/leads"},
		{"leads-no-match", "/leads?partner=zebra"},
		{"leads-several-partners", "/leads?partner=ea"},
		{"quote", web.QuoteURL(first.TransactionID)},
		{"leads-of-a-partner", "/leads?partner=harbour-leads&state=returned"},
		{"lead", web.LeadURL(first.ID)},
		{"lead-sandbox", web.LeadURL(trial.ID)},
		{"lead-erased", web.LeadURL(erased.ID)},
		{"lead-key-missing", web.LeadURL(keyless.ID)},
		{"jump-in-url", "/jump?q=nothing"},
	}
	for _, page := range pages {
		p.Open(s.URL + page.path)
		check(p, page.name)
	}
	p.Open(s.URL + web.LeadURL(first.ID))
	p.Submit(`a[href$="/reveal?field=email"]`)
	check(p, "lead-reveal")
	p.Click(`input[name="reason"][value="complaint"]`)
	p.Type(`input[name="proof"]`, admintest.Password)
	p.Submit(`form.form button[type="submit"]`)
	if text := p.Text("[data-revealed]"); text != admintest.JoContact.Email {
		t.Errorf("got %q, want the email address", text)
	}
	admintest.ExpectNoPersonalData(t, "the address", p.Address())
	check(p, "lead-revealed")
	p.Open(s.URL + web.LeadURL(first.ID) + "/evidence?return=" + id.Format(id.Return, r.ID))
	check(p, "lead-evidence")
	for i := range 2 {
		p.Click(`form.form button[type="submit"]`)
		testkit.Eventually(t, time.Minute, "the download is recorded", func() bool {
			return s.Count(t, "audit_events", "action = 'lead.evidence'") == i+1
		})
	}
	p.Open(evidencePage(t, s.Console, first.ID, r.ID))
	check(p, "evidence")
	expectOnlyStatusErrors(t, p)
	auditor := chromium.Page(t, browser.Emulation{})
	signIn(s.Console, auditor, "auditor@example.com")
	auditor.Open(s.URL + web.LeadURL(first.ID))
	check(auditor, "lead-explained")
	expectOnlyStatusErrors(t, auditor)
	checkLongNames(t, s.Console, p, pages)
	expectOnlyStatusErrors(t, p)
}

// evidencePage returns the address of the page in an evidence pack.
func evidencePage(t *testing.T, s *admintest.Console, lead, disputed uuid.UUID) string {
	t.Helper()
	content, err := s.Options.Evidence.By(audit.Operator).Create(t.Context(), scope.System, evidence.Request{Lead: lead, Return: disputed, Amounts: true, Events: audit.Everything})
	if err != nil {
		t.Fatal(err)
	}
	files, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServerFS(files))
	t.Cleanup(server.Close)
	return server.URL + "/evidence.html"
}

// eraseInBrowser erases a lead. The user has the role privacy, so no prices are shown.
func eraseInBrowser(t *testing.T, s *admintest.Console, p *browser.Page, lead uuid.UUID) {
	t.Helper()
	signIn(s, p, "privacy@example.com")
	p.Open(s.URL + "/leads")
	check(p, "leads-without-prices")
	p.Open(s.URL + web.LeadURL(lead))
	check(p, "lead-erasable")
	p.Submit(`a[href$="/erase"]`)
	check(p, "lead-erase")
	p.Click(`input[name="reason"][value="request"]`)
	p.Type(`textarea[name="note"]`, "Case 2041")
	p.Type(`input[name="proof"]`, admintest.Password)
	p.Submit(`form.form button[type="submit"]`)
	if p.Address() != s.URL+web.LeadURL(lead) || p.Text(`[data-erasure="done"] h2`) == "" {
		t.Errorf("after the erasure: the address is %s, want the lead's page with a receipt", p.Address())
	}
	expectOnlyStatusErrors(t, p)
}

// findLeadsInBrowser searches for leads by ID, transactionId, email address and phone number.
func findLeadsInBrowser(t *testing.T, chromium *browser.Browser) {
	s := admintest.NewConsoleWithLeads(t)
	first := s.AddLead(t, s.Harbour, admintest.JoContact, nil)
	s.AddLead(t, s.Other, admintest.JoContact, nil)
	alone := s.AddLead(t, s.Other, leads.Contact{Email: "sam@example.com", E164: "+442079460111"}, nil)
	for name, look := range map[string]browser.Emulation{
		"with script":            {},
		"narrow, without script": {NoScript: true, Width: 320, Height: 700},
	} {
		p := chromium.Page(t, look)
		signIn(s.Console, p, "account_manager@example.com")
		find := func(text string) {
			t.Helper()
			p.Open(s.URL + "/leads")
			p.Type(`#f-find-q`, text)
			p.Submit(`form[action="/leads/find"] button[type="submit"]`)
			admintest.ExpectNoPersonalData(t, name+": the address", p.Address())
		}
		for _, text := range []string{admintest.LeadIDOf(alone), alone.TransactionID, "Sam@example.com", "020 7946 0111"} {
			find(text)
			if p.Address() != s.URL+web.LeadURL(alone.ID) {
				t.Errorf("%s: %s opens %s", name, text, p.Address())
			}
		}
		find("jo.bloggs@example.com")
		if text := p.Text("main"); !strings.Contains(text, admintest.LeadIDOf(first)) ||
			strings.Contains(strings.ToLower(text), "bloggs") {
			t.Errorf("%s: %s", name, text)
		}
		checkAs(p, look, "leads-found")
		find("jo@exa mple")
		if !has(p, "#error-summary [data-code=email]") {
			t.Errorf("%s: %s", name, p.Text("main"))
		}
		checkAs(p, look, "leads-not-found")
		expectOnlyStatusErrors(t, p)
	}
}

// checkAs is like check, but checks only the page's width if scripts are turned off.
func checkAs(p *browser.Page, look browser.Emulation, name string) {
	if look.NoScript {
		p.CheckNoOverflow()
		return
	}
	check(p, name)
}

// revealInBrowser reveals a field. It disappears after 60 seconds and when the user leaves the page, and the
// browser does not show it when the user goes back.
func revealInBrowser(t *testing.T, chromium *browser.Browser) {
	s := admintest.NewConsoleWithLeads(t)
	lead := s.AddLead(t, s.Harbour, admintest.JoContact, nil)
	p := chromium.Page(t, browser.Emulation{})
	signIn(s.Console, p, "finance@example.com")
	reveal := func() {
		t.Helper()
		p.Open(s.URL + web.LeadURL(lead.ID) + "/reveal?field=name")
		p.Click(`input[name="reason"][value="return"]`)
		p.Type(`input[name="proof"]`, admintest.Password)
		p.Submit(`form.form button[type="submit"]`)
		if text := p.Text("[data-revealed]"); text != admintest.JoContact.Name {
			t.Fatalf("got %q, want the name", text)
		}
	}
	reveal()
	p.Submit(`a[href="` + web.LeadURL(lead.ID) + `"].button`)
	p.Wait(`history.back() || true`)
	p.Wait(`document.readyState === "complete" && !document.querySelector("[data-value]")`)
	reveal()
	p.Advance(61 * time.Second)
	p.Wait(`location.pathname === "` + web.LeadURL(lead.ID) + `" && !document.querySelector("[data-revealed]")`)
}
