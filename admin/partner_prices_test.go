package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// prices is the partner's own, as the database has them; "" for none.
func (o office) prices(t testing.TB) string {
	t.Helper()
	return testkit.Value[string](t, o.Database, `SELECT coalesce((SELECT adjustment || ' ' || exclusions || ' ' || coalesce(daily_lead_cap, 0) || ' v' || row_version FROM partner_prices WHERE partner_id = $1), '')`, o.id)
}

// What is agreed with one partner is set by those who own the prices, and shown with
// what it makes of a lead.
func TestPartnerPrices(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.visitor = o.as(t, models.PricingManager)
	tab := o.url + "?tab=prices"
	p := o.get(t, tab)
	for _, want := range []string{"http://api.example/p/harbour-leads", "plumber/GB/standard", "<strong>45.60 GBP</strong>", `href="/pricing/versions/1"`, "0 leads of today so far.", `name="exclusions"`} {
		if !strings.Contains(p.body, want) {
			t.Errorf("the page lacks %s: %s", want, p.text())
		}
	}
	form := url.Values{"version": {versionAt(t, p)}, "adjustment": {"+5.25"}, "cap": {"2"}, "exclusions": {"industry roofer, country de\r\n\r\ncategory legal-services"}}
	if p := o.post(t, o.url+"/prices", form); p.location() != tab {
		t.Fatalf("%d %s", p.status, p.text())
	}
	const stored = `525 [{"country": "DE", "industry": "roofer"}, {"category": "legal-services"}] 2 v1`
	if got := o.prices(t); got != stored {
		t.Errorf("stored is %s", got)
	}
	p = o.get(t, tab)
	for _, want := range []string{`value="&#43;5.25"`, `value="2"`, "industry roofer, country DE\ncategory legal-services", "&#43;5.25 %", "<strong>47.99 GBP</strong>", "47.994", "half to even"} {
		if !strings.Contains(p.body, want) && !strings.Contains(p.body, strings.ReplaceAll(want, "&#43;", "+")) {
			t.Errorf("the page lacks %s: %s", want, p.text())
		}
	}
	if n := o.count(t, "audit_events", `action = 'partner.prices' AND actor = 'pricing_manager@example.com' AND role = 'pricing_manager' AND partner_id = $1`, o.id); n != 1 {
		t.Errorf("%d times in the audit trail", n)
	}
	form.Set("version", versionAt(t, p))
	form.Set("exclusions", "category home-services")
	if p := o.post(t, o.url+"/prices", form); p.location() != tab {
		t.Fatalf("%d %s", p.status, p.text())
	}
	if p := o.get(t, tab); !strings.Contains(p.body, "<strong>no price</strong>") || !strings.Contains(p.body, "the partner does not sell it") {
		t.Errorf("%s", p.text())
	}

	o.time.Advance(11 * time.Minute)
	before := o.prices(t)
	form.Set("version", "2")
	form.Set("adjustment", "+50")
	if p := o.post(t, o.url+"/prices", form); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `name="proof"`) || !strings.Contains(p.body, `50"`) || o.prices(t) != before {
		t.Errorf("without proof: %d %s", p.status, p.text())
	}
	form.Set("proof", password)
	if p := o.post(t, o.url+"/prices", form); p.location() != tab || !strings.HasPrefix(o.prices(t), "5000 ") {
		t.Errorf("with proof: %d %s", p.status, p.text())
	}
	o.intact(t)
}

// The second one sees what the first one did to the prices, whatever else was done to
// the partner since.
func TestTwoChangePartnerPrices(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	pricing := o.as(t, models.PricingManager)
	version := versionAt(t, pricing.get(t, o.url+"?tab=prices"))
	if p := pricing.post(t, o.url+"/prices", url.Values{"version": {version}, "adjustment": {"-2.5"}}); p.status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.status, p.text())
	}
	if p := o.post(t, o.url+"/approve", url.Values{"version": {versionAt(t, o.get(t, o.url+"?tab=details"))}}); p.status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.status, p.text())
	}
	second := url.Values{"version": {version}, "adjustment": {"+7"}, "cap": {"9"}}
	p := pricing.post(t, o.url+"/prices", second)
	if p.status != http.StatusConflict || !strings.Contains(p.body, "pricing_manager@example.com") || !strings.Contains(p.body, "-2.5 %") || !strings.Contains(p.body, `7"`) || !strings.Contains(p.body, `value="9"`) || strings.Contains(p.body, "approved</strong>") {
		t.Errorf("%d %s", p.status, p.text())
	}
	if got := o.prices(t); got != "-250 [] 0 v1" {
		t.Errorf("stored is %s", got)
	}
	second.Set("version", versionAt(t, p))
	if p := pricing.post(t, o.url+"/prices", second); p.status != http.StatusSeeOther || o.prices(t) != "700 [] 9 v2" {
		t.Errorf("again: %d, %s: %s", p.status, o.prices(t), p.text())
	}
}

func TestBadPartnerPrices(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := o.as(t, models.PricingManager)
	for name, c := range map[string]struct {
		field, typed, says string
	}{
		"too little":         {"adjustment", "-90.01", "between"},
		"too much":           {"adjustment", "900.01", "between"},
		"three decimals":     {"adjustment", "5.125", "at most two decimals"},
		"a decimal comma":    {"adjustment", "5,5", "at most two decimals"},
		"not a number":       {"adjustment", "NaN", "at most two decimals"},
		"markup":             {"adjustment", "<script>alert(1)</script>", "at most two decimals"},
		"NUL":                {"adjustment", "5\x00", "at most two decimals"},
		"no cap":             {"cap", "0", "leave it empty"},
		"a negative cap":     {"cap", "-5", "leave it empty"},
		"a huge cap":         {"cap", "10000001", "leave it empty"},
		"a cap in words":     {"cap", "ten", "leave it empty"},
		"no such industry":   {"exclusions", "industry plumber\r\n\r\nindustry plumbr", "Line 3 of the exclusions"},
		"no such category":   {"exclusions", "category plumbing", "Line 1 of the exclusions"},
		"a country in words": {"exclusions", "country France", "two letters"},
		"an urgency":         {"exclusions", "urgency emergency", "is not one of industry, category, country"},
		"a bare word":        {"exclusions", "plumber", "industry plumber, country FR"},
		"they contradict":    {"exclusions", "industry plumber, category legal-services", "name one of the two"},
		"too many":           {"exclusions", strings.Repeat("industry no-such\n", 201), "at most 200 exclusions"},
		"no UTF-8":           {"exclusions", "industry \xff\xfe", "not in the taxonomy"},
	} {
		form := url.Values{"version": {"0"}, "adjustment": {"+1"}, "cap": {"11"}, "exclusions": {"country FR"}}
		form.Set(c.field, c.typed)
		p := b.post(t, o.url+"/prices", form)
		if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="f-`+c.field+`-error"`) || !strings.Contains(p.body, `href="#f-`+c.field+`"`) || !strings.Contains(p.body, c.says) {
			t.Errorf("%s: %d %s", name, p.status, p.text())
		}
		if strings.Contains(p.body, "<script>alert") || !strings.Contains(p.body, `1"`) {
			t.Errorf("%s: what was typed is not there, or as it came: %s", name, p.text())
		}
	}
	for _, version := range []string{"7", "99999999999999999999"} {
		if p := b.post(t, o.url+"/prices", url.Values{"version": {version}, "adjustment": {"+1"}}); p.status != http.StatusConflict {
			t.Errorf("version %s: %d", version, p.status)
		}
	}
	if got := o.prices(t); got != "" {
		t.Errorf("stored is %s", got)
	}
	// What is not understood costs the partner its prices, and not the page.
	o.Exec(t, `INSERT INTO partner_prices (partner_id, adjustment, exclusions, updated_at) VALUES ($1, 500, '["none"]', now())`, o.id)
	p := b.get(t, o.url+"?tab=prices")
	if p.status != http.StatusOK || !strings.Contains(p.body, "cannot be understood") || !strings.Contains(p.body, "<strong>no price</strong>") {
		t.Errorf("%d %s", p.status, p.text())
	}
	if p := b.post(t, o.url+"/prices", url.Values{"version": {versionAt(t, p)}, "adjustment": {"+5"}}); p.status != http.StatusSeeOther || o.prices(t) != "500 [] 0 v2" {
		t.Errorf("set anew: %d, %s", p.status, o.prices(t))
	}
	o.intact(t)
}

// Who owns no prices may look where a role says so, and nobody else.
func TestPartnerPricesByRole(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.Exec(t, `INSERT INTO partner_prices (partner_id, adjustment, exclusions, daily_lead_cap, updated_at) VALUES ($1, 777, '[{"country":"FR"}]', 3, now())`, o.id)
	for role, c := range map[models.Role]struct{ sees, example, changes bool }{
		models.Administrator: {}, models.Finance: {},
		models.AccountManager: {sees: true, example: true}, models.Auditor: {sees: true, example: true}, models.PricingManager: {true, true, true},
	} {
		both := []bool{true, false}
		if role == models.Administrator { // who is one everywhere
			both = both[:1]
		} else {
			mine := o.id
			o.person(t, string(role)+"-of-harbour@example.com", models.StaffRole{Role: role, PartnerID: &mine})
			o.reload(t)
		}
		for _, everywhere := range both {
			b := o.house.visitor(t)
			b.signIn(t, string(role)+map[bool]string{true: "", false: "-of-harbour"}[everywhere]+"@example.com")
			p := b.get(t, o.url+"?tab=prices")
			// What is the whole platform's a role at one partner does not give.
			example, changes := c.example && everywhere, c.changes && everywhere
			if p.status != http.StatusOK || strings.Contains(p.body, "7.77") != c.sees || strings.Contains(p.body, "None of your roles lets you see prices") == c.sees ||
				strings.Contains(p.body, `id="example"`) != example || strings.Contains(p.body, `action="`+o.url+`/prices"`) != changes || strings.Contains(p.body, "not change them") != (c.sees && !changes) {
				t.Errorf("%s, everywhere %t: %d %s", role, everywhere, p.status, p.text())
			}
			if p := b.post(t, o.url+"/prices", url.Values{"version": {"1"}, "adjustment": {"-90.01"}}); (p.status == http.StatusUnprocessableEntity) != changes || !changes && p.status != http.StatusForbidden {
				t.Errorf("%s, everywhere %t: sends %d", role, everywhere, p.status)
			}
		}
	}
	if got := o.prices(t); !strings.HasPrefix(got, "777 ") || !strings.HasSuffix(got, " v1") {
		t.Errorf("stored is %s", got)
	}
	o.intact(t)
}
