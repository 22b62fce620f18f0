package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// desk is a house whose pricing manager has a draft of the shipped prices open.
type desk struct {
	*house
	*visitor
	draft models.RateCard
	url   string
}

func newDesk(t *testing.T) desk {
	t.Helper()
	d := desk{house: newHouse(t, kind{})}
	if _, err := d.options.Prices.PublishShipped(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.begin(t)
	d.visitor = d.as(t, models.PricingManager)
	return d
}

func (d *desk) begin(t *testing.T) {
	t.Helper()
	var err error
	if d.draft, err = d.service(models.PricingManager).Begin(t.Context(), "Spring prices", 0); err != nil {
		t.Fatal(err)
	}
	d.url = web.DraftURL(d.draft.ID)
}

// service is that of the prices on behalf of a role's person.
func (d *desk) service(role models.Role) *ratecard.Service {
	return d.options.Prices.By(audit.Actor{Staff: d.people[role].ID, Name: string(role) + "@example.com", Role: string(role)})
}

// base is what an industry has of its own in GB at any urgency.
func (d *desk) base(t testing.TB, industry string) int64 {
	t.Helper()
	now, err := d.options.Prices.Draft(t.Context(), ratecard.ID(d.draft.ID))
	if err != nil {
		t.Fatal(err)
	}
	sheet, err := d.options.Prices.Sheet(t.Context(), now.RateCard)
	if err != nil {
		t.Fatal(err)
	}
	if base := sheet.Table.BaseOf(pricingrules.Target{Industry: industry, Country: "GB"}); base.Own {
		return base.Minor
	}
	return 0
}

// cell sends one cell of GB's grid.
func (d *desk) cell(t testing.TB, industry, was, base string, more ...string) page {
	t.Helper()
	f := url.Values{"industry": {industry}, "was": {was}, "base": {base}}
	for i := 0; i+1 < len(more); i += 2 {
		f.Set(more[i], more[i+1])
	}
	return d.post(t, d.url+"/cell?category=home-services&country=GB&q=pl", f)
}

// The way of a draft from its first form to the list of what was done to it.
func TestPricing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	home := d.get(t, "/pricing")
	for _, want := range []string{"Version 1", "Spring prices", "/pricing/drafts/new", "most specific rule wins", `id="row-plumber"`, "/pricing/versions/1/export?category", "all "} {
		if !strings.Contains(home.body, strings.TrimSuffix(want, "?category")) {
			t.Errorf("the first page lacks %q: %s", want, home.text())
		}
	}
	if p := d.get(t, "/pricing/drafts/new?from=1"); !strings.Contains(p.body, `name="from" value="1"`) {
		t.Errorf("%s", p.text())
	}
	made := d.post(t, "/pricing/drafts/new", url.Values{"title": {"Winter"}, "from": {"1"}})
	if made.status != http.StatusSeeOther || !strings.HasPrefix(made.location(), "/pricing/drafts/rc_") {
		t.Fatalf("%d %s", made.status, made.text())
	}
	d.url = made.location()
	for _, tab := range []string{"", "?tab=grid", "?tab=rules", "?tab=edits", "?country=DE&urgency=urgent", "?country=ZZ", "?q=zebra", "/import", "/title", "/discard", "/rules/new", "/rules/1"} {
		if p := d.get(t, d.url+tab); p.status != http.StatusOK {
			t.Errorf("%s: %d %s", tab, p.status, p.text())
		}
	}
	if p := d.get(t, "/jump?q="+strings.TrimPrefix(d.url, "/pricing/drafts/")); p.location() != d.url {
		t.Errorf("a jump leads to %q", p.location())
	}
	title := url.Values{"title": {"Winter, Germany"}, "version": {versionAt(t, d.get(t, d.url+"/title"))}}
	if p := d.post(t, d.url+"/title", title); p.location() != d.url || !strings.Contains(d.get(t, "/pricing").body, "Winter, Germany") {
		t.Errorf("%d %s", p.status, p.text())
	}
	if p := d.post(t, d.url+"/title", url.Values{"title": {"Mine"}, "version": {"1"}}); p.status != http.StatusConflict || !strings.Contains(p.body, "pricing_manager@example.com") || !strings.Contains(p.body, `value="Mine"`) {
		t.Errorf("a stale title: %d %s", p.status, p.text())
	}
	ask := d.get(t, d.url+"/discard")
	if p := d.post(t, d.url+"/discard", url.Values{"name": {"yes"}, "version": {versionAt(t, ask)}}); p.status != http.StatusUnprocessableEntity {
		t.Errorf("discarded without the word: %d", p.status)
	}
	if p := d.post(t, d.url+"/discard", url.Values{"name": {"discard"}, "version": {versionAt(t, ask)}}); p.location() != "/pricing" {
		t.Errorf("%d %s", p.status, p.text())
	}
	if p := d.get(t, d.url); !strings.Contains(p.body, "This draft was discarded") || strings.Contains(p.body, `name="base"`) {
		t.Errorf("%s", p.text())
	}
	if p := d.get(t, d.url+"/rules/new"); p.location() != d.url {
		t.Errorf("a rule of what is discarded: %d", p.status)
	}
	d.intact(t)
}

// A cell takes an amount, and inherits again once it is empty; the last edit is undone.
func TestCells(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	saved := d.cell(t, "plumber", "0", " 61.5 ")
	if saved.status != http.StatusSeeOther || saved.location() != d.url+"?category=home-services&country=GB&q=pl#f-base-plumber" || d.base(t, "plumber") != 6150 {
		t.Fatalf("%d to %s, base %d: %s", saved.status, saved.location(), d.base(t, "plumber"), saved.text())
	}
	p := d.get(t, d.url+"?q=plumber")
	for _, want := range []string{`value="61.50"`, "Undo: ", "becomes", `name="was" value="6150"`} {
		if !strings.Contains(p.body, want) {
			t.Errorf("the grid lacks %s: %s", want, p.text())
		}
	}
	if p := d.cell(t, "plumber", "6150", "£70", "part", "rows"); p.status != http.StatusOK || !strings.Contains(p.body, `id="grid-part" data-version="3"`) || !strings.Contains(p.body, `id="row-plumber"`) || strings.Contains(p.body, "<h1>") || strings.Contains(p.body, `id="row-solicitor"`) {
		t.Errorf("a part: %d %.300s", p.status, p.body)
	}
	if p := d.cell(t, "plumber", "7000", ""); p.status != http.StatusSeeOther || d.base(t, "plumber") != 0 {
		t.Errorf("%d, base %d", p.status, d.base(t, "plumber"))
	}
	undo := func() page {
		t.Helper()
		_, rest, _ := strings.Cut(d.get(t, d.url).body, `name="edit" value="`)
		edit, _, _ := strings.Cut(rest, `"`)
		return d.post(t, d.url+"/undo?country=GB", url.Values{"edit": {edit}})
	}
	for _, want := range []int64{7000, 6150, 0} {
		if p := undo(); p.status != http.StatusSeeOther || d.base(t, "plumber") != want {
			t.Errorf("undone: %d, base %d, want %d", p.status, d.base(t, "plumber"), want)
		}
	}
	if p := d.post(t, d.url+"/undo", url.Values{"edit": {"1"}}); p.status != http.StatusConflict {
		t.Errorf("with nothing to undo: %d", p.status)
	}
	if p := d.get(t, d.url+"?tab=edits"); strings.Count(p.body, "by pricing_manager@example.com") != 3 {
		t.Errorf("%s", p.text())
	}
	d.intact(t)
}

// What no cell can hold is refused at the cell, with what to write instead, and kept.
func TestCellMistakes(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for typed, want := range map[string]string{
		"-5": "must be above 0", "0": "must be above 0", "45.605": "at most two decimals", "1e3": "is not an amount", "9999999": "is above 1000000",
		"45 EUR": "GB is priced in GBP, not in EUR", "eur45": "GB is priced in GBP, not in EUR", "€45": "GB is priced in GBP", "$45": "not in USD",
		"45,60": "Write 45.60", "1,204.50": "Write 1204.50", "forty": "is not an amount", hostile: "is not an amount", "99999999999999999999": "is not an amount",
	} {
		for _, part := range []string{"", "rows"} {
			f := []string{"part", part}
			if part == "" {
				f = nil
			}
			p := d.cell(t, "plumber", "0", typed, f...)
			if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, want) || !strings.Contains(p.body, `id="f-base-plumber-error"`) || !strings.Contains(p.body, `href="#f-base-plumber"`) || !strings.Contains(p.body, `aria-invalid="true"`) {
				t.Errorf("%q: %d %s", typed, p.status, p.text())
			}
			if typed != hostile && !strings.Contains(p.body, `value="`+typed+`"`) {
				t.Errorf("%q is not kept", typed)
			}
		}
	}
	for _, good := range []string{"45 GBP", "GBP 45.6", "£45"} {
		if p := d.cell(t, "plumber", fmt.Sprint(d.base(t, "plumber")), good); p.status != http.StatusSeeOther {
			t.Errorf("%q: %d %s", good, p.status, p.text())
		}
	}
	if p := d.cell(t, "zebra-groomer", "0", "45"); p.status != http.StatusUnprocessableEntity {
		t.Errorf("no industry: %d", p.status)
	}
}

// Two change one cell: the second sees the first's, and overwrites nothing unseen.
func TestTwoChangeOneCell(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	plumber := pricingrules.Target{Industry: "plumber", Country: "GB"}
	if err := d.service(models.Administrator).SetBase(t.Context(), d.draft.ID, plumber, 0, 5100); err != nil {
		t.Fatal(err)
	}
	p := d.cell(t, "plumber", "0", "49")
	if p.status != http.StatusConflict || !strings.Contains(p.body, "it is 51.00 GBP now") || !strings.Contains(p.body, `value="49"`) || !strings.Contains(p.body, `name="was" value="5100"`) || d.base(t, "plumber") != 5100 {
		t.Errorf("%d, base %d: %s", p.status, d.base(t, "plumber"), p.text())
	}
	if p := d.cell(t, "plumber", "5100", "49"); p.status != http.StatusSeeOther || d.base(t, "plumber") != 4900 {
		t.Errorf("knowing of it: %d", p.status)
	}
	stale := url.Values{"version": {"1"}, "mode": {"paste"}, "lines": {"plumber\t1\r\narborist\t2"}}
	if p := d.post(t, d.url+"/cells?country=GB", stale); p.status != http.StatusConflict || !strings.Contains(p.body, "pricing_manager@example.com") || d.base(t, "arborist") != 0 {
		t.Errorf("a column on what has changed: %d %s", p.status, p.text())
	}
}

// A column is taken as a whole or not at all.
func TestPastedColumn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	version := func() string { return versionAt(t, d.get(t, d.url)) }
	paste := func(lines string) page {
		return d.post(t, d.url+"/cells?country=GB", url.Values{"version": {version()}, "mode": {"paste"}, "lines": {lines}})
	}
	if p := paste("arborist\t40\r\narchitect\t41.5\r\ncategory-home-services\t39"); p.status != http.StatusSeeOther || d.base(t, "arborist") != 4000 || d.base(t, "architect") != 4150 {
		t.Fatalf("%d %s", p.status, p.text())
	}
	if p := d.get(t, d.url); !strings.Contains(p.body, "Undo: Pasted 3 bases: GB, any urgency") {
		t.Errorf("%s", p.text())
	}
	for name, c := range map[string]struct{ lines, want string }{
		"a wrong one":   {"arborist\t50\r\narchitect\tmuch", "Line 2: &#34;much&#34; is not an amount"},
		"two columns":   {"arborist\t50\t60\r\narchitect\t51", "Line 1: "},
		"too long":      {"arborist\t50\r\n\t51", "longer than the rows"},
		"another table": {"zebra\t50", "no such row"},
	} {
		p := paste(c.lines)
		if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, c.want) || !strings.Contains(p.body, "not even in part") || d.base(t, "arborist") != 4000 {
			t.Errorf("%s: %d, base %d: %s", name, p.status, d.base(t, "arborist"), p.text())
		}
		if strings.HasPrefix(c.lines, "arborist\t50\r") && !strings.Contains(p.body, `value="50"`) {
			t.Errorf("%s: what was pasted is gone", name)
		}
	}
}

// All that is shown is changed at once, once somebody has seen how.
func TestBulk(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	edits := func() int { return d.count(t, "rate_card_edits", "true") }
	send := func(by, amount string, more ...string) page {
		f := url.Values{"version": {versionAt(t, d.get(t, d.url))}, "mode": {"bulk"}, "by": {by}, "amount": {amount}}
		for i := 0; i+1 < len(more); i += 2 {
			f.Set(more[i], more[i+1])
		}
		return d.post(t, d.url+"/cells?category=home-services&country=GB", f)
	}
	for amount, want := range map[string]string{"": "Write a percentage", "5.123": "Write a percentage", "-95": "-90 %", "900.01": "900 %", "0": "0 % changes nothing", hostile: "Write a percentage"} {
		if p := send("percent", amount, "apply", "yes"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, want) || !strings.Contains(p.body, `id="f-amount-error"`) {
			t.Errorf("%q: %d %s", amount, p.status, p.text())
		}
	}
	for _, amount := range []string{"", "-4", "5 USD"} {
		if p := send("set", amount, "apply", "yes"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `<option value="set" selected>`) {
			t.Errorf("%q: %d %s", amount, p.status, p.text())
		}
	}
	p := send("percent", "+2.5")
	if p.status != http.StatusOK || !strings.Contains(p.body, "Bases +2.5 %: GB, any urgency, category home-services") || !strings.Contains(p.body, "inherited") || !strings.Contains(p.body, " more.") || edits() != 0 {
		t.Fatalf("%d, %d edits: %s", p.status, edits(), p.text())
	}
	if p := send("percent", "+2.5", "apply", "yes"); p.status != http.StatusSeeOther || edits() != 1 {
		t.Fatalf("%d %s", p.status, p.text())
	}
	if rules := testkit.Value[int](t, d.Database, `SELECT rules FROM rate_card_edits`); rules < 50 {
		t.Errorf("one edit of %d rules", rules)
	}
	if p := send("set", "50", "apply", "yes"); p.status != http.StatusSeeOther || d.base(t, "plumber") != 5000 {
		t.Errorf("%d, base %d", p.status, d.base(t, "plumber"))
	}
	if p := send("set", "50"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "No base would change") {
		t.Errorf("what is so already: %d %s", p.status, p.text())
	}
	if p := send("set", "51", "version", "1"); p.status != http.StatusConflict {
		t.Errorf("stale: %d", p.status)
	}
	d.intact(t)
}
