package leads_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

func TestFindLead(t *testing.T) {
	t.Parallel()
	s := admintest.NewConsoleWithLeads(t)
	first, second, alone := s.AddLead(t, s.Harbour, admintest.JoContact, nil), s.AddLead(t, s.Other, admintest.JoContact, nil), s.AddLead(t, s.Harbour, admintest.SamContact, nil)
	b := s.SignedInAs(t, models.AccountManager)
	find := func(by, value, country string) admintest.Response {
		t.Helper()
		p := b.Post(t, "/leads/find", url.Values{"by": {by}, "value": {value}, "country": {country}})
		admintest.ExpectNoPersonalData(t, "the URL after a search by "+by, p.Location())
		return p
	}
	for _, c := range []struct {
		by, value, country string
		want               models.Lead
	}{
		{"id", admintest.LeadIDOf(first), "", first},
		{"id", " " + strings.ToLower(admintest.LeadIDOf(first)) + " ", "", first},
		{"id", alone.TransactionID, "", alone},
		{"email", " SAM@Example.com ", "", alone},
	} {
		if p := find(c.by, c.value, c.country); p.Status != http.StatusSeeOther || p.Location() != web.LeadURL(c.want.ID) {
			t.Errorf("%s %q: got status %d and location %q", c.by, c.value, p.Status, p.Location())
		}
	}
	for _, c := range [][3]string{
		{"email", "jo.bloggs@example.com", ""},
		{"phone", "+44 20 7946 0018", ""},
		{"phone", "020 7946 0018", "GB"},
	} {
		p := find(c[0], c[1], c[2])
		if p.Status != http.StatusOK || !strings.Contains(p.Body, admintest.LeadIDOf(first)) ||
			!strings.Contains(p.Body, admintest.LeadIDOf(second)) || strings.Contains(p.Body, admintest.LeadIDOf(alone)) {
			t.Errorf("%v: got status %d: %s", c, p.Status, p.Text())
		}
		admintest.ExpectNoPersonalData(t, "the page after a search by "+c[0], p.Body)
	}
	if p := find("email", "unknown@example.com", ""); p.Status != http.StatusOK ||
		!slices.Equal(p.Values("data-empty"), []string{"none"}) {
		t.Errorf("an unknown address: got status %d: %s", p.Status, p.Text())
	}
	events := testkit.Value[string](t, s.Database,
		`SELECT string_agg(e::text, ' ') FROM audit_events e WHERE action = 'lead.find'`)
	admintest.ExpectNoPersonalData(t, "the audit log", events)
	if n := s.Count(t, "audit_events", `action = 'lead.find' AND role = 'account_manager' AND actor = 'account_manager@example.com'`); n != 5 {
		t.Errorf("got %d lead.find events, want 5", n)
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
	for name, c := range map[string]struct{ by, value, code string }{
		"empty":              {"email", "  ", "value"},
		"invalid email":      {"email", "jo at example", "email"},
		"two emails":         {"email", "a@example.com, b@example.com", "email"},
		"invalid phone":      {"phone", "none", "phone"},
		"invalid id":         {"id", "zebra", "no_lead"},
		"email as id":        {"id", "q@example.com", "no_lead"},
		"another kind of id": {"id", "pt_00000000000000000000000001", "no_lead"},
		"markup":             {"email", "<script>alert(1)</script>", "email"},
		"very long":          {"email", strings.Repeat("y", 9000), "email"},
		"NUL":                {"email", "a\x00@example.com", "value"},
		"unknown key":        {"stars", "x", "no_lead"},
	} {
		p := b.Post(t, "/leads/find", url.Values{"by": {c.by}, "value": {c.value}})
		if p.Status != http.StatusUnprocessableEntity || !slices.Equal(p.Codes(), []string{c.code}) ||
			!strings.Contains(p.Body, `href="#f-find-value"`) || strings.Contains(p.Body, "<script>alert") {
			t.Errorf("%s: got status %d: %s", name, p.Status, p.Text())
		}
	}
	if p := b.Post(t, "/leads/find", url.Values{"by": {"phone"}, "value": {"020 7946 0018"}}); p.Status != http.StatusUnprocessableEntity || !strings.Contains(p.Body, `href="#f-find-country"`) || !strings.Contains(p.Body, `value="020 7946 0018"`) {
		t.Errorf("a national number without a country: got status %d: %s", p.Status, p.Text())
	}
	if p := b.Post(t, "/leads/find", url.Values{"by": {"email"}, "value": {"jo at example"}}); !strings.Contains(p.Body, `value="jo at example"`) || !strings.Contains(p.Body, `value="email" selected`) {
		t.Errorf("the form does not keep the input: %s", p.Text())
	}
	if n := s.Count(t, "audit_events", `action = 'lead.find'`); n != 0 {
		t.Errorf("got %d lead.find events, want 0", n)
	}
	if p := s.SignedInAs(t, models.PricingManager).Post(t, "/leads/find", url.Values{"by": {"id"}, "value": {"x"}}); p.Status != http.StatusForbidden {
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
		models.Administrator:  "/audit?object=" + admintest.LeadIDOf(lead),
	} {
		b := s.SignedInAs(t, role)
		if p := b.Get(t, "/jump?q="+admintest.LeadIDOf(lead)); p.Location() != want {
			t.Errorf("%s: got status %d and location %q, want %q", role, p.Status, p.Location(), want)
		}
		p := b.Get(t, "/jump?q="+lead.TransactionID)
		if want != web.LeadURL(lead.ID) {
			want = ""
		}
		if p.Location() != want {
			t.Errorf("%s by transactionId: got status %d and location %q, want %q", role, p.Status, p.Location(), want)
		}
	}
	p := s.SignedInAs(t, models.Finance).Get(t, "/jump?q=jo.bloggs%40example.com")
	if p.Status != http.StatusNotFound || !strings.Contains(p.Body, `<a href="/leads" data-find-leads`) {
		t.Errorf("an email address: got status %d: %s", p.Status, p.Text())
	}
	admintest.ExpectNoPersonalData(t, "the page of a jump", p.Body)
	p = s.SignedInAs(t, models.Finance).Get(t, "/jump?q=%2B44+20+7946+0018")
	if p.Status != http.StatusNotFound || !strings.Contains(p.Body, `<a href="/leads" data-find-leads`) {
		t.Errorf("a phone number: got status %d: %s", p.Status, p.Text())
	}
	admintest.ExpectNoPersonalData(t, "the page of a jump", p.Body)
	for _, role := range []models.Role{models.Administrator, models.PricingManager} { // roles without permission to search
		p := s.SignedInAs(t, role).Get(t, "/jump?q=jo.bloggs%40example.com")
		if p.Status != http.StatusNotFound || strings.Contains(p.Body, "data-find-leads") {
			t.Errorf("%s gets a link to a form that they may not use: %s", role, p.Text())
		}
		admintest.ExpectNoPersonalData(t, "the page of a jump", p.Body)
	}
}

// Searches by email address and phone number have a daily limit.
func TestFindStopsAtDailyLimit(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	officer := b.SignedInAs(t, models.Privacy)
	b.Exec(t, `INSERT INTO daily_access (staff_id, day, lookups) VALUES ($1, $2, $3)`, b.People[models.Privacy].ID, b.Time.Now().UTC(), admintest.LookupsPerDay-1)
	search := url.Values{"by": {"email"}, "value": {"unknown@example.com"}}
	officer.Post(t, "/leads/find", search).Expect(t, "the last search", http.StatusOK)
	officer.Post(t, "/leads/find", search).Expect(t, "one too many", http.StatusTooManyRequests, `data-code="lookups_per_day"`)
	lead, _ := b.Deliver(t, b.Harbour())
	officer.Post(t, "/leads/find", url.Values{"by": {"id"}, "value": {lead}}).ExpectRedirect(t, "/leads/"+lead)
}

// TestFindTransactionWhileJournalIsAhead checks that no search confirms a transactionId that should have been erased.
func TestFindTransactionWhileJournalIsAhead(t *testing.T) {
	t.Parallel()
	s := admintest.NewConsoleWithLeads(t)
	lead, other := s.AddLead(t, s.Harbour, admintest.JoContact, nil), s.AddLead(t, s.Harbour, admintest.SamContact, nil)
	b := s.SignedInAs(t, models.Privacy)
	s.PutJournalAhead(t)
	for _, token := range []string{lead.TransactionID, other.TransactionID + "x"} {
		p := b.Post(t, "/leads/find", url.Values{"by": {"id"}, "value": {token}})
		if p.Status != http.StatusUnprocessableEntity || !slices.Equal(p.Codes(), []string{"erasable_hidden", "no_lead"}) {
			t.Errorf("found: got status %d and %v", p.Status, p.Codes())
		}
		if p := b.Get(t, "/jump?q="+token); p.Status != http.StatusNotFound || !slices.Equal(p.Codes(), []string{"erasable_hidden"}) {
			t.Errorf("jumped: got status %d and %v", p.Status, p.Codes())
		}
	}
	b.Post(t, "/leads/find", url.Values{"by": {"id"}, "value": {admintest.LeadIDOf(lead)}}).ExpectRedirect(t, web.LeadURL(lead.ID))
}
