package browser_test

import (
	"net/url"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/browser"
	"github.com/pingpost/pingpost/models"
)

// everyRequestPage answers a request for a copy and a request for erasure.
func everyRequestPage(t *testing.T, chromium *browser.Browser) {
	s := admintest.NewConsoleWithLeads(t)
	first := s.AddLead(t, s.Harbour, admintest.JoContact, nil)
	s.AddLead(t, s.Other, admintest.JoContact, nil)
	relative := admintest.JoContact
	relative.Phone, relative.E164 = "020 7946 0999", "+442079460999"
	s.AddLead(t, s.Other, relative, nil)
	p := chromium.Page(t, browser.Emulation{})
	signIn(s.Console, p, "privacy@example.com")
	p.Open(s.URL + "/privacy/requests")
	check(p, "requests-none")
	create := func(kind string) {
		t.Helper()
		p.Open(s.URL + "/privacy/requests/new")
		p.Click(`input[name="kind"][value="` + kind + `"]`)
		p.Type(`input[name="email"]`, admintest.JoContact.Email)
		p.Type(`input[name="reference"]`, "Case 2041")
	}
	create("access")
	check(p, "request-new")
	p.Submit(`form.form button[type="submit"]`)
	check(p, "request-open")
	for _, form := range []string{"add", "remove"} {
		p.Submit(`a[href$="/` + form + `"]`)
		check(p, "request-"+form)
		p.Submit(`form.form a[href^="/privacy/requests/pr_"]`)
	}
	p.Submit(`a[href$="/identity"]`)
	check(p, "request-identity")
	p.Click(`input[name="identity"][value="reply"]`)
	p.Submit(`form.form button[type="submit"]`)
	p.Click(`[data-letter="acknowledge"] summary`)
	check(p, "request-checked")
	p.Submit(`a[href$="/extend"]`)
	check(p, "request-extend")
	p.Type(`textarea[name="reason"]`, "The data is in archives.")
	p.Submit(`form.form button[type="submit"]`)
	p.Submit(`a[href$="/close"]`)
	check(p, "request-close")
	p.Submit(`form.form button[type="submit"]`)
	check(p, "request-close-errors")
	p.Submit(`form.form a[href^="/privacy/requests/pr_"]`)
	p.Submit(`a[href$="/export"]`)
	check(p, "request-export")
	p.Type(`input[name="proof"]`, admintest.Password)
	p.Submit(`form.form button[type="submit"]`)
	if p.Text(".once code") == "" {
		t.Error("the page does not show the passphrase")
	}
	check(p, "request-exported")
	p.Submit(`a[href^="/privacy/requests/pr_"]:not([href*=".zip"])`)
	check(p, "request-answered")

	create("erasure")
	p.Submit(`form.form button[type="submit"]`)
	p.Submit(`a[href$="/identity"]`)
	p.Click(`input[name="identity"][value="document"]`)
	p.Submit(`form.form button[type="submit"]`)
	request := p.Address()
	p.Open(s.URL + "/leads/" + admintest.LeadID(first.ID) + "/hold")
	p.Type(`input[name="reason"]`, "Case 7")
	p.Submit(`form.form button[type="submit"]`)
	p.Open(request)
	check(p, "request-held")
	p.Open(s.URL + "/privacy/holds")
	p.Submit(`a[href*="/release?hold="]`)
	p.Submit(`form.form button[type="submit"]`)
	p.Open(request)
	p.Submit(`a[href$="/erase"]`)
	check(p, "request-erase")
	p.Type(`input[name="proof"]`, admintest.Password)
	p.Submit(`form.form button[type="submit"]`)
	check(p, "request-to-notify")
	p.Submit(`form[action$="/notices"] button`)
	p.Submit(`a[href*="/notices/"]`)
	check(p, "request-not-notified")
	p.Click(`input[name="reason"][value="unreachable"]`)
	p.Submit(`form.form button[type="submit"]`)
	check(p, "request-erased")
	if n := s.Count(t, "erasures", "lead_id = '"+first.ID.String()+"'"); n != 1 {
		t.Errorf("the lead has %d erasures, want 1", n)
	}
	create("erasure")
	p.Submit(`form.form button[type="submit"]`)
	check(p, "request-nothing-found")
	p.Open(s.URL + "/privacy/requests")
	check(p, "requests")
	p.Open(s.URL + "/privacy/requests?state=closed")
	check(p, "requests-closed")
	auditor := chromium.Page(t, browser.Emulation{})
	signIn(s.Console, auditor, string(models.Auditor)+"@example.com")
	auditor.Open(s.URL + "/audit?kind=privacy_request")
	check(auditor, "audit-requests")
	expectOnlyStatusErrors(t, auditor)
	expectOnlyStatusErrors(t, p)
}

// everyNotePage finds and redacts a note in the ledger. The list of notes also contains the evidence for a return.
func everyNotePage(t *testing.T, chromium *browser.Browser) {
	c := admintest.NewConsoleWithLedger(t)
	account := id.Format(id.Account, c.Harbour.Account.ID)
	for _, why := range []string{"refund for Jo Smith", "corrected rate for November"} {
		c.Post(t, "/payouts/adjust", url.Values{
			"own": {id.Format(id.Adjustment, uuid.New())}, "partner": {"harbour-leads"}, "account": {account},
			"amount": {"12.50"}, "currency": {"GBP"}, "why": {why},
		}).ExpectRedirect(t, "/payouts?account="+account)
	}
	c.Post(t, "/payouts/returns/new", url.Values{
		"lead": {id.Format(id.Lead, c.Leads[0])}, "reason": {"wrong_contact"}, "evidence": {"Sam Taylor answered and has never heard of us."},
	}).ExpectCreated(t, "/payouts/returns/")
	p := chromium.Page(t, browser.Emulation{})
	signIn(c.Console, p, "privacy@example.com")
	p.Open(c.URL + "/privacy/notes")
	check(p, "notes")
	p.Type(`input[name="text"]`, "jo smith")
	p.Submit(`form.filters button[type="submit"]`)
	check(p, "notes-found")
	p.Submit(`a[href$="/redact"]`)
	check(p, "note-redact")
	p.Submit(`form.form button[type="submit"]`)
	check(p, "notes-redacted")
	expectOnlyStatusErrors(t, p)
}
