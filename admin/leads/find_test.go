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
		admintest.ExpectNoPersonalData(t, "the address after "+by, p.Location())
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
			t.Errorf("%s %q: %d %q", c.by, c.value, p.Status, p.Location())
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
			t.Errorf("%v: %d %s", c, p.Status, p.Text())
		}
		admintest.ExpectNoPersonalData(t, "the page of "+c[0], p.Body)
	}
	if p := find("email", "nobody@example.com", ""); p.Status != http.StatusOK ||
		!slices.Equal(p.Values("data-empty"), []string{"none"}) {
		t.Errorf("nobody's: %d %s", p.Status, p.Text())
	}
	trail := testkit.Value[string](t, s.Database,
		`SELECT string_agg(e::text, ' ') FROM audit_events e WHERE action = 'lead.find'`)
	admintest.ExpectNoPersonalData(t, "the audit trail", trail)
	if n := s.Count(t, "audit_events", `action = 'lead.find' AND role = 'account_manager' AND actor = 'account_manager@example.com'`); n != 5 {
		t.Errorf("%d look-ups are in the audit trail, want 5", n)
	}
	s.CheckAuditTrail(t)
	if p := s.SignedInAs(t, models.Auditor).Get(t, "/audit?action=lead."); !slices.Contains(p.Values("data-action"), "lead.find") {
		t.Errorf("the audit page: %s", p.Text())
	}
}

func TestFindLeadRejects(t *testing.T) {
	t.Parallel()
	s := admintest.NewConsoleWithLeads(t)
	b := s.SignedInAs(t, models.Finance)
	for name, c := range map[string]struct{ by, value, code string }{
		"nothing":             {"email", "  ", "value"},
		"no address":          {"email", "jo at example", "email"},
		"two":                 {"email", "a@example.com, b@example.com", "email"},
		"no number":           {"phone", "none", "phone"},
		"no id":               {"id", "zebra", "no_lead"},
		"an address as an id": {"id", "q@example.com", "no_lead"},
		"another kind":        {"id", "pt_00000000000000000000000001", "no_lead"},
		"markup":              {"email", "<script>alert(1)</script>", "email"},
		"very long":           {"email", strings.Repeat("y", 9000), "email"},
		"no text":             {"email", "a\x00@example.com", "value"},
		"no way":              {"stars", "x", "no_lead"},
	} {
		p := b.Post(t, "/leads/find", url.Values{"by": {c.by}, "value": {c.value}})
		if p.Status != http.StatusUnprocessableEntity || !slices.Equal(p.Codes(), []string{c.code}) ||
			!strings.Contains(p.Body, `href="#f-find-value"`) || strings.Contains(p.Body, "<script>alert") {
			t.Errorf("%s: %d %s", name, p.Status, p.Text())
		}
	}
	if p := b.Post(t, "/leads/find", url.Values{"by": {"phone"}, "value": {"020 7946 0018"}}); p.Status != http.StatusUnprocessableEntity || !strings.Contains(p.Body, `href="#f-find-country"`) || !strings.Contains(p.Body, `value="020 7946 0018"`) {
		t.Errorf("a national number without a country: %d %s", p.Status, p.Text())
	}
	if p := b.Post(t, "/leads/find", url.Values{"by": {"email"}, "value": {"jo at example"}}); !strings.Contains(p.Body, `value="jo at example"`) || !strings.Contains(p.Body, `value="email" selected`) {
		t.Errorf("what was typed is gone: %s", p.Text())
	}
	if n := s.Count(t, "audit_events", `action = 'lead.find'`); n != 0 {
		t.Errorf("%d look-ups that were none are in the audit trail", n)
	}
	if p := s.SignedInAs(t, models.PricingManager).Post(t, "/leads/find", url.Values{"by": {"id"}, "value": {"x"}}); p.Status != http.StatusForbidden {
		t.Errorf("whoever may not: %d", p.Status)
	}
}

func TestJumpToALead(t *testing.T) {
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
			t.Errorf("%s: %d %q", role, p.Status, p.Location())
		}
		p := b.Get(t, "/jump?q="+lead.TransactionID)
		if want != web.LeadURL(lead.ID) {
			want = ""
		}
		if p.Location() != want {
			t.Errorf("%s by transactionId: %d %q", role, p.Status, p.Location())
		}
	}
	p := s.SignedInAs(t, models.Finance).Get(t, "/jump?q=jo.bloggs%40example.com")
	if p.Status != http.StatusNotFound || !strings.Contains(p.Body, `<a href="/leads" data-find-leads`) {
		t.Errorf("an e-mail address: %d %s", p.Status, p.Text())
	}
	admintest.ExpectNoPersonalData(t, "the page of a jump", p.Body)
	p = s.SignedInAs(t, models.Finance).Get(t, "/jump?q=%2B44+20+7946+0018")
	if p.Status != http.StatusNotFound || !strings.Contains(p.Body, `<a href="/leads" data-find-leads`) {
		t.Errorf("a phone number: %d %s", p.Status, p.Text())
	}
	admintest.ExpectNoPersonalData(t, "the page of a jump", p.Body)
	for _, role := range []models.Role{models.Administrator, models.PricingManager} { // who would find no form there
		p := s.SignedInAs(t, role).Get(t, "/jump?q=jo.bloggs%40example.com")
		if p.Status != http.StatusNotFound || strings.Contains(p.Body, "data-find-leads") {
			t.Errorf("%s is led to a form that is not theirs: %s", role, p.Text())
		}
		admintest.ExpectNoPersonalData(t, "the page of a jump", p.Body)
	}
}
