package partners_test

import (
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

// Pricing managers set partner pricing, and the page shows a price example.
func TestPartnerPrices(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	o.Client = o.SignedInAs(t, models.PricingManager)
	tab := o.PartnerURL + "?tab=prices"
	p := o.Get(t, tab)
	for _, want := range []string{"http://api.example/p/harbour-leads", "plumber/GB/standard",
		`data-outcome="priced">45.60 GBP<`, `href="/pricing/versions/1"`, `data-leads-today="0"`, `name="exclusions"`,
		"data-taxonomy", "<code>legal-services</code>", `<option value="category: legal-services">`, `<option value="industry: plumber">`,
		`<option value="country: FR">`, `href="/pricing/explain?partner=harbour-leads"`} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the page does not contain %s: %s", want, p.Text())
		}
	}
	form := url.Values{
		"version":    {admintest.VersionAt(t, p)},
		"adjustment": {"+5.25"},
		"cap":        {"2"},
		"exclusions": {"industry roofer, country de\r\n\r\ncategory legal-services"},
	}
	if p := o.Post(t, o.PartnerURL+"/prices", form); p.Location() != tab {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	const stored = `525 [{"country": "DE", "industry": "roofer"}, {"category": "legal-services"}] 2 v1`
	if got := o.Prices(t); got != stored {
		t.Errorf("stored pricing is %s, want %s", got, stored)
	}
	p = o.Get(t, tab)
	for _, want := range []string{`value="&#43;5.25"`, `value="2"`,
		"industry: roofer, country: DE\ncategory: legal-services", "&#43;5.25%", `data-outcome="priced">47.99 GBP<`,
		`data-leads-left="2"`,
		"47.994"} {
		if !strings.Contains(p.Body, want) && !strings.Contains(p.Body, strings.ReplaceAll(want, "&#43;", "+")) {
			t.Errorf("the page does not contain %s: %s", want, p.Text())
		}
	}
	if n := o.Count(t, "audit_events", `action = 'partner.prices' AND actor = 'pricing_manager@example.com' AND role = 'pricing_manager' AND partner_id = $1`, o.PartnerID); n != 1 {
		t.Errorf("got %d audit events, want 1", n)
	}
	form.Set("version", admintest.VersionAt(t, p))
	form.Set("exclusions", "category home-services")
	if p := o.Post(t, o.PartnerURL+"/prices", form); p.Location() != tab {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	if p := o.Get(t, tab); !slices.Equal(p.Values("data-outcome"), []string{"own_exclusion"}) {
		t.Errorf("%s", p.Text())
	}

	o.Time.Advance(11 * time.Minute)
	before := o.Prices(t)
	form.Set("version", "2")
	form.Set("adjustment", "+50")
	if p := o.Post(t, o.PartnerURL+"/prices", form); p.Status != http.StatusUnprocessableEntity ||
		!strings.Contains(p.Body, `name="proof"`) || !strings.Contains(p.Body, `50"`) || o.Prices(t) != before {
		t.Errorf("without proof: %d %s", p.Status, p.Text())
	}
	form.Set("proof", admintest.Password)
	if p := o.Post(t, o.PartnerURL+"/prices", form); p.Location() != tab || !strings.HasPrefix(o.Prices(t), "5000 ") {
		t.Errorf("with proof: %d %s", p.Status, p.Text())
	}
	p = o.Get(t, tab)
	if got := p.Values("data-action"); !slices.Equal(got, slices.Repeat([]string{"partner.prices"}, 3)) ||
		!strings.Contains(p.Body, "by pricing_manager@example.com") {
		t.Errorf("history %q: %s", got, p.Text())
	}
	o.CheckAuditLog(t)
}

// A change that is based on outdated pricing is rejected. The page shows the conflicting price change, even if other
// data about the partner has changed since.
func TestConflictingPartnerPrices(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	pricing := o.SignedInAs(t, models.PricingManager)
	version := admintest.VersionAt(t, pricing.Get(t, o.PartnerURL+"?tab=prices"))
	if p := pricing.Post(t, o.PartnerURL+"/prices", url.Values{"version": {version}, "adjustment": {"-2.5"}}); p.Status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	if p := o.Post(t, o.PartnerURL+"/approve", url.Values{"version": {admintest.VersionAt(t, o.Get(t, o.PartnerURL+"?tab=details"))}}); p.Status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	second := url.Values{"version": {version}, "adjustment": {"+7"}, "cap": {"9"}}
	p := pricing.Post(t, o.PartnerURL+"/prices", second)
	if p.Status != http.StatusConflict || !slices.Equal(p.Values("data-conflict"), []string{"changed"}) ||
		!strings.Contains(p.Body, "pricing_manager@example.com") || !strings.Contains(p.Body, "-2.5%") ||
		!strings.Contains(p.Body, `7"`) || !strings.Contains(p.Body, `value="9"`) ||
		strings.Contains(p.Body, "approved</strong>") {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	if got := o.Prices(t); got != "-250 [] 0 v1" {
		t.Errorf("stored pricing is %q", got)
	}
	second.Set("version", admintest.VersionAt(t, p))
	if p := pricing.Post(t, o.PartnerURL+"/prices", second); p.Status != http.StatusSeeOther || o.Prices(t) != "700 [] 9 v2" {
		t.Errorf("with the new version: status %d, pricing %s: %s", p.Status, o.Prices(t), p.Text())
	}
}

func TestPartnerPricesRejectsInvalidInput(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	b := o.SignedInAs(t, models.PricingManager)
	for name, c := range map[string]struct{ field, typed string }{
		"too low":            {"adjustment", "-90.01"},
		"too high":           {"adjustment", "900.01"},
		"three decimals":     {"adjustment", "5.125"},
		"a decimal comma":    {"adjustment", "5,5"},
		"not a number":       {"adjustment", "NaN"},
		"markup":             {"adjustment", "<script>alert(1)</script>"},
		"NUL":                {"adjustment", "5\x00"},
		"a zero cap":         {"cap", "0"},
		"a negative cap":     {"cap", "-5"},
		"a huge cap":         {"cap", "10000001"},
		"a cap in words":     {"cap", "ten"},
		"unknown industry":   {"exclusions", "industry plumber\r\n\r\nindustry plumbr"},
		"unknown category":   {"exclusions", "category plumbing"},
		"a country in words": {"exclusions", "country France"},
		"an urgency":         {"exclusions", "urgency emergency"},
		"a bare word":        {"exclusions", "plumber"},
		"a contradiction":    {"exclusions", "industry plumber, category legal-services"},
		"too many":           {"exclusions", strings.Repeat("industry no-such\n", 201)},
		"not UTF-8":          {"exclusions", "industry \xff\xfe"},
	} {
		form := url.Values{"version": {"0"}, "adjustment": {"+1"}, "cap": {"11"}, "exclusions": {"country FR"}}
		form.Set(c.field, c.typed)
		p := b.Post(t, o.PartnerURL+"/prices", form)
		if p.Status != http.StatusUnprocessableEntity || !slices.Equal(p.Errors(), []string{c.field}) ||
			!strings.Contains(p.Body, `href="#f-`+c.field+`"`) {
			t.Errorf("%s: %d, errors at %q: %s", name, p.Status, p.Errors(), p.Text())
		}
		// The page shows all errors from SetPricing in the same order.
		err := o.Options.Partners.SetPricing(t.Context(), scope.System, o.PartnerID, 0, partners.PriceForm{
			Adjustment:   form.Get("adjustment"),
			DailyLeadCap: form.Get("cap"),
			Exclusions:   form.Get("exclusions"),
		}, o.Options.Prices.Taxonomy())
		rest, codes := p.Body, []string(nil)
		for _, f := range apperr.As(err).Fields {
			var ok bool
			if _, rest, ok = strings.Cut(rest, html.EscapeString(f.Message)); !ok {
				t.Errorf("%s: the page does not show %q: %s", name, f.Message, p.Text())
			}
			codes = append(codes, string(f.Code))
		}
		if !slices.Equal(p.Codes(), codes) {
			t.Errorf("%s: codes %q, want %q", name, p.Codes(), codes)
		}
		if strings.Contains(p.Body, "<script>alert") || !strings.Contains(p.Body, `1"`) {
			t.Errorf("%s: the input is missing or not escaped: %s", name, p.Text())
		}
	}
	for _, version := range []string{"7", "99999999999999999999"} {
		if p := b.Post(t, o.PartnerURL+"/prices", url.Values{"version": {version}, "adjustment": {"+1"}}); p.Status != http.StatusConflict {
			t.Errorf("version %s: %d", version, p.Status)
		}
	}
	if got := o.Prices(t); got != "" {
		t.Errorf("stored pricing is %q", got)
	}
	// If the exclusions cannot be read, everything is excluded, but the page still works.
	o.Exec(t,
		`INSERT INTO partner_prices (partner_id, adjustment, exclusions, updated_at) VALUES ($1, 500, '["none"]', now())`,
		o.PartnerID)
	p := b.Get(t, o.PartnerURL+"?tab=prices")
	if p.Status != http.StatusOK || !slices.Contains(p.Values("data-notice"), "bad") ||
		!slices.Equal(p.Values("data-outcome"), []string{"own_exclusion"}) {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	if p := b.Post(t, o.PartnerURL+"/prices", url.Values{"version": {admintest.VersionAt(t, p)}, "adjustment": {"+5"}}); p.Status != http.StatusSeeOther || o.Prices(t) != "500 [] 0 v2" {
		t.Errorf("saved again: status %d, pricing %s", p.Status, o.Prices(t))
	}
	o.CheckAuditLog(t)
}

// Pricing managers can change partner pricing. Account managers and auditors can read it. Other roles
// cannot see it.
func TestPartnerPricesByRole(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	o.Exec(t,
		`INSERT INTO partner_prices (partner_id, adjustment, exclusions, daily_lead_cap, updated_at) VALUES ($1, 777, '[{"country":"FR"}]', 3, now())`,
		o.PartnerID)
	for role, c := range map[models.Role]struct{ sees, example, changes bool }{
		models.Administrator:  {},
		models.Finance:        {},
		models.AccountManager: {sees: true, example: true},
		models.Auditor:        {sees: true, example: true},
		models.PricingManager: {true, true, true},
	} {
		both := []bool{true, false}
		if role == models.Administrator { // cannot be limited to some partners
			both = both[:1]
		} else {
			mine := o.PartnerID
			o.AddStaff(t, string(role)+"-of-harbour@example.com", models.StaffRole{Role: role, PartnerID: &mine})
			o.Reload(t)
		}
		for _, everywhere := range both {
			b := o.Console.NewClient(t)
			b.SignIn(t, string(role)+map[bool]string{true: "", false: "-of-harbour"}[everywhere]+"@example.com")
			p := b.Get(t, o.PartnerURL+"?tab=prices")
			// Seeing the rate card and changing prices require a role for all partners.
			example, changes := c.example && everywhere, c.changes && everywhere
			if p.Status != http.StatusOK || strings.Contains(p.Body, "7.77") != c.sees ||
				strings.Contains(p.Body, `id="own"`) != c.sees || slices.Contains(p.Values("data-notice"), "info") == changes ||
				strings.Contains(p.Body, `id="example"`) != example ||
				strings.Contains(p.Body, `action="`+o.PartnerURL+`/prices"`) != changes {
				t.Errorf("%s, everywhere %t: %d %s", role, everywhere, p.Status, p.Text())
			}
			if p := b.Post(t, o.PartnerURL+"/prices", url.Values{"version": {"1"}, "adjustment": {"-90.01"}}); (p.Status == http.StatusUnprocessableEntity) != changes || !changes && p.Status != http.StatusForbidden {
				t.Errorf("%s, everywhere %t: POST returned %d", role, everywhere, p.Status)
			}
		}
	}
	if got := o.Prices(t); !strings.HasPrefix(got, "777 ") || !strings.HasSuffix(got, " v1") {
		t.Errorf("stored pricing is %q", got)
	}
	o.CheckAuditLog(t)
}
