package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

func TestFindLead(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	first, second, alone := s.sell(t, s.harbour, jo, nil), s.sell(t, s.other, jo, nil), s.sell(t, s.harbour, sam, nil)
	b := s.as(t, models.AccountManager)
	find := func(by, value, country string) page {
		t.Helper()
		p := b.post(t, "/leads/find", url.Values{"by": {by}, "value": {value}, "country": {country}})
		personal(t, "the address after "+by, p.location())
		return p
	}
	for _, c := range []struct {
		by, value, country string
		want               models.Lead
	}{
		{"id", shownID(first), "", first}, {"id", " " + strings.ToLower(shownID(first)) + " ", "", first}, {"id", alone.TransactionID, "", alone}, {"email", " SAM@Example.com ", "", alone},
	} {
		if p := find(c.by, c.value, c.country); p.status != http.StatusSeeOther || p.location() != web.LeadURL(c.want.ID) {
			t.Errorf("%s %q: %d %q", c.by, c.value, p.status, p.location())
		}
	}
	for _, c := range [][3]string{{"email", "jo.bloggs@example.com", ""}, {"phone", "+44 20 7946 0018", ""}, {"phone", "020 7946 0018", "GB"}} {
		p := find(c[0], c[1], c[2])
		if p.status != http.StatusOK || !strings.Contains(p.body, shownID(first)) || !strings.Contains(p.body, shownID(second)) || strings.Contains(p.body, shownID(alone)) {
			t.Errorf("%v: %d %s", c, p.status, p.text())
		}
		personal(t, "the page of "+c[0], p.body)
	}
	if p := find("email", "nobody@example.com", ""); p.status != http.StatusOK || !strings.Contains(p.body, "No lead found") {
		t.Errorf("nobody's: %d %s", p.status, p.text())
	}
	trail := testkit.Value[string](t, s.Database, `SELECT string_agg(e::text, ' ') FROM audit_events e WHERE action = 'lead.find'`)
	personal(t, "the audit trail", trail)
	if n := s.count(t, "audit_events", `action = 'lead.find' AND role = 'account_manager' AND actor = 'account_manager@example.com'`); n != 5 {
		t.Errorf("%d look-ups are in the audit trail, want 5", n)
	}
	s.intact(t)
	if p := s.as(t, models.Auditor).get(t, "/audit?action=lead."); !strings.Contains(p.body, "lead: find") {
		t.Errorf("the audit page: %s", p.text())
	}
}

func TestFindLeadRefuses(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.as(t, models.Finance)
	for name, c := range map[string]struct{ by, value, says string }{
		"nothing": {"email", "  ", "Type what to look up"}, "no address": {"email", "jo at example", "one whole e-mail address"}, "two": {"email", "a@example.com, b@example.com", "one whole"},
		"no number": {"phone", "none", "a phone number"}, "no id": {"id", "zebra", "There is no lead with this id"}, "an address as an id": {"id", "q@example.com", "There is no lead with this id"},
		"another kind": {"id", "pt_00000000000000000000000001", "There is no lead with this id"}, "markup": {"email", "<script>alert(1)</script>", "one whole"}, "very long": {"email", strings.Repeat("y", 9000), "one whole"},
		"no text": {"email", "a\x00@example.com", "Type what to look up"}, "no way": {"stars", "x", "There is no lead with this id"},
	} {
		p := b.post(t, "/leads/find", url.Values{"by": {c.by}, "value": {c.value}})
		if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, c.says) || !strings.Contains(p.body, `href="#f-find-value"`) || strings.Contains(p.body, "<script>alert") {
			t.Errorf("%s: %d %s", name, p.status, p.text())
		}
	}
	if p := b.post(t, "/leads/find", url.Values{"by": {"phone"}, "value": {"020 7946 0018"}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `href="#f-find-country"`) || !strings.Contains(p.body, `value="020 7946 0018"`) {
		t.Errorf("a national number without a country: %d %s", p.status, p.text())
	}
	if p := b.post(t, "/leads/find", url.Values{"by": {"email"}, "value": {"jo at example"}}); !strings.Contains(p.body, `value="jo at example"`) || !strings.Contains(p.body, `value="email" selected`) {
		t.Errorf("what was typed is gone: %s", p.text())
	}
	if n := s.count(t, "audit_events", `action = 'lead.find'`); n != 0 {
		t.Errorf("%d look-ups that were none are in the audit trail", n)
	}
	if p := s.as(t, models.PricingManager).post(t, "/leads/find", url.Values{"by": {"id"}, "value": {"x"}}); p.status != http.StatusForbidden {
		t.Errorf("whoever may not: %d", p.status)
	}
}

func TestJumpToALead(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	lead := s.sell(t, s.harbour, jo, nil)
	for role, want := range map[models.Role]string{models.Finance: web.LeadURL(lead.ID), models.PricingManager: web.LeadURL(lead.ID), models.Administrator: "/audit?object=" + shownID(lead)} {
		b := s.as(t, role)
		if p := b.get(t, "/jump?q="+shownID(lead)); p.location() != want {
			t.Errorf("%s: %d %q", role, p.status, p.location())
		}
		p := b.get(t, "/jump?q="+lead.TransactionID)
		if want != web.LeadURL(lead.ID) {
			want = ""
		}
		if p.location() != want {
			t.Errorf("%s by transactionId: %d %q", role, p.status, p.location())
		}
	}
	p := s.as(t, models.Finance).get(t, "/jump?q=jo.bloggs%40example.com")
	if p.status != http.StatusNotFound || !strings.Contains(p.body, `href="/leads"`) {
		t.Errorf("an e-mail address: %d %s", p.status, p.text())
	}
	personal(t, "the page of a jump", p.body)
	p = s.as(t, models.Finance).get(t, "/jump?q=%2B44+20+7946+0018")
	if p.status != http.StatusNotFound || !strings.Contains(p.body, `<a href="/leads">form`) {
		t.Errorf("a phone number: %d %s", p.status, p.text())
	}
	personal(t, "the page of a jump", p.body)
	for _, role := range []models.Role{models.Administrator, models.PricingManager} { // who would find no form there
		p := s.as(t, role).get(t, "/jump?q=jo.bloggs%40example.com")
		if p.status != http.StatusNotFound || strings.Contains(p.body, `<a href="/leads">form`) {
			t.Errorf("%s is led to a form that is not theirs: %s", role, p.text())
		}
		personal(t, "the page of a jump", p.body)
	}
}
