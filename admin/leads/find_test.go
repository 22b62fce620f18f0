package leads_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
)

func TestFindLead(t *testing.T) {
	t.Parallel()
	s := admintest.NewConsoleWithLeads(t)
	referred := func(reference string) func(*models.Lead) {
		return func(l *models.Lead) { l.PartnerReference = reference }
	}
	first := s.AddLead(t, s.Harbour, admintest.JoContact, referred("20251123001"))
	second := s.AddLead(t, s.Other, admintest.JoContact, nil)
	alone := s.AddLead(t, s.Harbour, admintest.SamContact, referred("order 7"))
	b := s.SignedInAs(t, models.AccountManager)
	find := func(text string) admintest.Response {
		t.Helper()
		p := b.Post(t, "/leads/find", url.Values{"q": {text}})
		admintest.ExpectNoPersonalData(t, "the URL after a search", p.Location())
		return p
	}
	for text, want := range map[string]models.Lead{
		admintest.LeadIDOf(first):                              first,
		" " + strings.ToLower(admintest.LeadIDOf(first)) + " ": first,
		alone.TransactionID:                                    alone,
		" SAM@Example.com ":                                    alone,
		"order 7":                                              alone,
		"20251123001":                                          first, // a reference that looks like a phone number
	} {
		if p := find(text); p.Status != http.StatusSeeOther || p.Location() != web.LeadURL(want.ID) {
			t.Errorf("%q: got status %d and location %q", text, p.Status, p.Location())
		}
	}
	for _, text := range []string{"jo.bloggs@example.com", "+44 20 7946 0018", "020 7946 0018", "(020) 7946-0018"} {
		p := find(text)
		if p.Status != http.StatusOK || !strings.Contains(p.Body, admintest.LeadIDOf(first)) ||
			!strings.Contains(p.Body, admintest.LeadIDOf(second)) || strings.Contains(p.Body, admintest.LeadIDOf(alone)) {
			t.Errorf("%s: got status %d: %s", text, p.Status, p.Text())
		}
		admintest.ExpectNoPersonalData(t, "the page after a search", p.Body)
	}
	for _, text := range []string{"unknown@example.com", "no such reference"} {
		if p := find(text); p.Status != http.StatusOK || !slices.Equal(p.Values("data-empty"), []string{"none"}) {
			t.Errorf("%s: got status %d: %s", text, p.Status, p.Text())
		}
	}
	events := testkit.Value[string](t, s.Database,
		`SELECT string_agg(e::text, ' ') FROM audit_events e WHERE action = 'lead.find'`)
	admintest.ExpectNoPersonalData(t, "the audit log", events)
	if n := s.Count(t, "audit_events", `action = 'lead.find' AND role = 'account_manager' AND actor = 'account_manager@example.com'`); n != 7 {
		t.Errorf("got %d lead.find events, want 7", n)
	}
	s.CheckAuditLog(t)
	if p := s.SignedInAs(t, models.Auditor).Get(t, "/audit?action=lead."); !slices.Contains(p.Values("data-action"), "lead.find") {
		t.Errorf("the audit page does not list lead.find: %s", p.Text())
	}
}

func TestFindLeadRejectsInvalidInput(t *testing.T) {
	t.Parallel()
	s := admintest.NewConsoleWithLeads(t)
	b := s.SignedInAs(t, models.Finance)
	for name, c := range map[string]struct{ text, code string }{
		"empty":              {"  ", "value"},
		"invalid email":      {"jo@exa mple", "email"},
		"two emails":         {"a@example.com, b@example.com", "email"},
		"unknown id":         {"ld_zebra", "no_lead"},
		"another kind of id": {"pt_00000000000000000000000001", "no_lead"},
		"markup":             {"<script>alert(1)</script>@", "email"},
		"very long":          {strings.Repeat("y", 9000) + "@", "email"},
		"NUL":                {"a\x00@example.com", "value"},
	} {
		p := b.Post(t, "/leads/find", url.Values{"q": {c.text}})
		if p.Status != http.StatusUnprocessableEntity || !slices.Equal(p.Codes(), []string{c.code}) ||
			!strings.Contains(p.Body, `href="#f-find-q"`) || strings.Contains(p.Body, "<script>alert") {
			t.Errorf("%s: got status %d: %s", name, p.Status, p.Text())
		}
	}
	if p := b.Post(t, "/leads/find", url.Values{"q": {"jo@exa mple"}}); strings.Contains(p.Body, "exa mple") {
		t.Errorf("the form repeats an email address: %s", p.Text())
	}
	if p := b.Post(t, "/leads/find", url.Values{"q": {"ld_zebra"}}); !strings.Contains(p.Body, `value="ld_zebra"`) {
		t.Errorf("the form does not keep the input: %s", p.Text())
	}
	if n := s.Count(t, "audit_events", `action = 'lead.find'`); n != 0 {
		t.Errorf("got %d lead.find events, want 0", n)
	}
	if p := s.SignedInAs(t, models.PricingManager).Post(t, "/leads/find", url.Values{"q": {"x"}}); p.Status != http.StatusForbidden {
		t.Errorf("a user without permission: got status %d, want 403", p.Status)
	}
}

func TestJumpToLead(t *testing.T) {
	t.Parallel()
	s := admintest.NewConsoleWithLeads(t)
	lead := s.AddLead(t, s.Harbour, admintest.JoContact, nil)
	for role, want := range map[models.Role]string{
		models.Finance:        web.LeadURL(lead.ID),
		models.PricingManager: web.LeadURL(lead.ID),
		models.Administrator:  "", // may see neither the lead nor its events
	} {
		b := s.SignedInAs(t, role)
		if p := b.Get(t, "/jump?q="+admintest.LeadIDOf(lead)); p.Location() != want {
			t.Errorf("%s: got status %d and location %q, want %q", role, p.Status, p.Location(), want)
		}
		if p := b.Get(t, "/jump?q="+lead.TransactionID); p.Location() != want {
			t.Errorf("%s by transactionId: got status %d and location %q, want %q", role, p.Status, p.Location(), want)
		}
	}
	// References, email addresses and phone numbers are posted to the lead search.
	referred := s.AddLead(t, s.Harbour, admintest.JoContact, func(l *models.Lead) { l.PartnerReference = "crm 99" })
	other := s.AddLead(t, s.Harbour, admintest.JoContact, func(l *models.Lead) { l.PartnerReference = "fb_10042" })
	for text, want := range map[string]string{
		"crm 99": web.LeadURL(referred.ID), "crm 98": "", "fb_10042": web.LeadURL(other.ID),
	} {
		b, form := s.SignedInAs(t, models.Finance), url.Values{"q": {text}}
		p := b.Post(t, "/jump", form)
		if p.Status == http.StatusTemporaryRedirect {
			p = b.Post(t, p.Location(), form)
		}
		if p.Location() != want {
			t.Errorf("%q: got status %d and location %q, want %q", text, p.Status, p.Location(), want)
		}
	}
	// Email addresses and phone numbers are in no URL and on no page.
	for _, text := range []string{"jo.bloggs@example.com", "+44 20 7946 0018", "020 7946 0018"} {
		for role, status := range map[models.Role]int{
			models.Finance:       http.StatusTemporaryRedirect,
			models.Administrator: http.StatusNotFound, // may not search for leads
		} {
			b := s.SignedInAs(t, role)
			p := b.Post(t, "/jump", url.Values{"q": {text}})
			if p.Status != status || status == http.StatusTemporaryRedirect && p.Location() != "/leads/find" {
				t.Errorf("%s %q: got status %d and location %q", role, text, p.Status, p.Location())
			}
			admintest.ExpectNoPersonalData(t, "the page of a search", p.Body)
			if p := b.Get(t, "/jump?q="+url.QueryEscape(text)); p.Status != http.StatusNotFound ||
				!slices.Equal(p.Values("data-search-state"), []string{"url"}) {
				t.Errorf("in a URL: got status %d: %s", p.Status, p.Text())
			} else {
				admintest.ExpectNoPersonalData(t, "the page of a URL", p.Body)
			}
		}
	}
}

// Searches by email address and phone number have a daily limit.
func TestFindStopsAtDailyLimit(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	officer := b.SignedInAs(t, models.Privacy)
	b.Exec(t, `INSERT INTO daily_access (staff_id, day, lookups) VALUES ($1, $2, $3)`, b.People[models.Privacy].ID, b.Time.Now().UTC(), admintest.LookupsPerDay-1)
	search := url.Values{"q": {"unknown@example.com"}}
	officer.Post(t, "/leads/find", search).Expect(t, "the last search", http.StatusOK)
	officer.Post(t, "/leads/find", search).Expect(t, "one too many", http.StatusTooManyRequests, `data-code="lookups_per_day"`)
	lead, _ := b.Deliver(t, b.Harbour())
	officer.Post(t, "/leads/find", url.Values{"q": {lead}}).ExpectRedirect(t, "/leads/"+lead)
}

// TestFindTransactionWhileJournalIsAhead checks that no search confirms a transactionId that should have been erased.
func TestFindTransactionWhileJournalIsAhead(t *testing.T) {
	t.Parallel()
	s := admintest.NewConsoleWithLeads(t)
	lead, other := s.AddLead(t, s.Harbour, admintest.JoContact, nil), s.AddLead(t, s.Harbour, admintest.SamContact, nil)
	b := s.SignedInAs(t, models.Privacy)
	s.PutJournalAhead(t)
	for _, token := range []string{lead.TransactionID, other.TransactionID + "x"} {
		p := b.Post(t, "/leads/find", url.Values{"q": {token}})
		if p.Status != http.StatusUnprocessableEntity || !slices.Equal(p.Codes(), []string{"erasable_hidden", "no_lead"}) {
			t.Errorf("found: got status %d and %v", p.Status, p.Codes())
		}
		if p := b.Get(t, "/jump?q="+token); p.Status != http.StatusNotFound || !slices.Equal(p.Codes(), []string{"erasable_hidden"}) {
			t.Errorf("jumped: got status %d and %v", p.Status, p.Codes())
		}
	}
	b.Post(t, "/leads/find", url.Values{"q": {admintest.LeadIDOf(lead)}}).ExpectRedirect(t, web.LeadURL(lead.ID))
}
