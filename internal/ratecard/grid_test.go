package ratecard_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// compiled stores a draft with rules and returns its compiled card.
func (w *rateCards) compiled(t *testing.T, rules ...pricingrules.Rule) *ratecard.ExaminedCard {
	t.Helper()
	compiled, err := w.ExamineCard(t.Context(),
		w.now(t, put(t, w.Database, 0, models.RateCardDraft, pricingrules.Card{Rules: rules})))
	must(t, err)
	return compiled
}

func gbp(minor int64) pricingrules.Amounts { return pricingrules.Amounts{money.GBP: minor} }

func TestGrid(t *testing.T) {
	t.Parallel()
	w := newRateCards(t)
	compiled := w.compiled(t, pricingrules.Rule{Base: all(1000)}, pricingrules.Rule{
		Category: "home-services",
		Country:  "GB",
		Base:     gbp(2000),
	},
		pricingrules.Rule{Industry: "plumber", Base: gbp(3000)}, pricingrules.Rule{
			Industry: "plumber",
			Country:  "GB",
			Urgency:  "urgent",
			Base:     gbp(4000),
		},
		pricingrules.Rule{Urgency: "urgent", Multiplier: 15_000}, pricingrules.Rule{
			Industry: "roofer",
			Exclude:  pricingrules.ExcludeTrue,
		})
	with := w.compiled(t, pricingrules.Rule{Base: all(500)})

	rows := w.Grid(compiled, with, ratecard.GridView{Country: "GB"})
	if want := w.Taxonomy().Len() + len(w.Taxonomy().Categories()); len(rows) != want {
		t.Fatalf("got %d rows, want %d", len(rows), want)
	}
	if first := rows[0]; first.Name != "Home services" ||
		first.Target != (pricingrules.Target{Category: "home-services", Country: "GB"}) || first.Compared || rows[1].Name != "" {
		t.Errorf("got first row %+v", first)
	}
	find := func(rows []ratecard.GridRow, target pricingrules.Target) ratecard.GridRow {
		t.Helper()
		at := slices.IndexFunc(rows, func(r ratecard.GridRow) bool { return r.Target == target })
		if at < 0 {
			t.Fatalf("row %s is missing", target)
		}
		return rows[at]
	}
	urgent := w.Grid(compiled, with, ratecard.GridView{Country: "GB", Urgency: "urgent"})
	french := w.Grid(compiled, nil, ratecard.GridView{Country: "FR"})
	for _, c := range []struct {
		rows                []ratecard.GridRow
		target              pricingrules.Target
		minor               int64
		own                 bool
		source, price, live string
	}{
		{rows, pricingrules.Target{Category: "home-services", Country: "GB"}, 2000, true, "", "", ""},
		{rows, pricingrules.Target{Category: "automotive", Country: "GB"}, 1000, false, "every lead", "", ""},
		{rows, plumbers, 3000, false, "industry: plumber", "30.00 GBP", "5.00 GBP"},
		{rows, pricingrules.Target{Industry: "locksmith", Country: "GB"}, 2000, false,
			"category: home-services, country: GB", "20.00 GBP", "5.00 GBP"},
		{rows, pricingrules.Target{Industry: "roofer", Country: "GB"}, 2000, false,
			"category: home-services, country: GB", "excluded", "5.00 GBP"},
		{urgent, pricingrules.Target{
			Industry: "plumber",
			Country:  "GB",
			Urgency:  "urgent",
		}, 4000, true, "", "60.00 GBP", "5.00 GBP"},
		{urgent, pricingrules.Target{
			Industry: "locksmith",
			Country:  "GB",
			Urgency:  "urgent",
		}, 2000, false, "category: home-services, country: GB", "30.00 GBP", "5.00 GBP"},
		{french, pricingrules.Target{Industry: "plumber", Country: "FR"}, 1000, false, "every lead", "10.00 EUR", ""},
	} {
		row := find(c.rows, c.target)
		if row.Base.Minor != c.minor || row.Base.Direct != c.own || row.Source != c.source || row.Price != c.price {
			t.Errorf("%s: got %+v", c.target, row)
		}
		if row.Compared != (c.live != "") || (row.Compared && row.Live.String() != c.live) {
			t.Errorf("%s: got comparison %t with %v, want %q", c.target, row.Compared, row.Live, c.live)
		}
	}
}

func TestGridView(t *testing.T) {
	t.Parallel()
	w := newRateCards(t)
	compiled := w.compiled(t, pricingrules.Rule{Base: gbp(1000)}) // with gaps in other currencies
	for _, v := range []ratecard.GridView{
		{Country: "PL"},
		{Country: ""},
		{Country: "GB", Urgency: "soon"},
		{Country: "GB", Category: "none"},
		{Country: "GB", Search: "no-such-industry"},
	} {
		if rows := w.Grid(compiled, nil, v); len(rows) != 0 {
			t.Errorf("%+v: got %d rows", v, len(rows))
		}
	}
	for _, v := range []ratecard.GridView{
		{Country: "GB", Category: "automotive"},
		{Country: "GB", Search: " CLEAN "},
		{Country: "FR", Category: "business-services", Search: "clean"},
	} {
		rows := w.Grid(compiled, nil, v)
		var want []string
		for _, category := range w.Taxonomy().Categories() {
			industries := []string{}
			for _, industry := range w.Taxonomy().Industries() {
				if industry.Category == category.Slug &&
					strings.Contains(industry.Slug, strings.ToLower(strings.TrimSpace(v.Search))) {
					industries = append(industries, industry.Slug)
				}
			}
			if len(industries) > 0 && (v.Category == "" || v.Category == category.Slug) {
				want = append(append(want, category.Slug), industries...)
			}
		}
		var got []string
		for _, row := range rows {
			got = append(got, row.Target.Industry+row.Target.Category)
			if gap := row.Base.Rule < 0; gap != (v.Country == "FR") ||
				(gap && row.Target.Industry != "" && row.Price != "no price") {
				t.Errorf("%+v: %+v", v, row)
			}
		}
		if !slices.Equal(got, want) || len(got) < 2 {
			t.Errorf("%+v: got %v, want %v", v, got, want)
		}
	}
}

func TestBulk(t *testing.T) {
	t.Parallel()
	row := func(industry string, minor int64, rule int) ratecard.GridRow {
		return ratecard.GridRow{BaseRow: pricingrules.BaseRow{
			Target: pricingrules.Target{Industry: industry, Country: "GB"},
			Base:   pricingrules.Base{Minor: minor, Rule: rule},
		}}
	}
	category := ratecard.GridRow{BaseRow: pricingrules.BaseRow{
		Target: pricingrules.Target{Category: "home-services", Country: "GB"},
		Base:   pricingrules.Base{Minor: 7},
	}}
	for _, c := range []struct{ minor, percent, want int64 }{
		{1000, 500, 1050}, {1000, -1250, 875}, {1000, 0, 1000},
		{10, 500, 10}, {30, 500, 32}, // 10.5 and 31.5, half to even
		{10, 501, 11}, {30, 499, 31},
		{1, -9000, 1}, {4, -9000, 1}, {100, -10_000, 1}, // at least 0.01
		{pricingrules.MaxAmount, 1, 100_010_000},
	} {
		changes := ratecard.Bulk{Percent: c.percent}.Changes([]ratecard.GridRow{category, row("plumber", c.minor, 0), row("roofer", 0, -1)})
		if len(changes) != 1 || changes[0] != (ratecard.BaseChange{Target: plumbers, Minor: c.want}) {
			t.Errorf("%d by %d ten-thousandths: got %+v, want %d", c.minor, c.percent, changes, c.want)
		}
	}
	changes := ratecard.Bulk{Set: 4560}.Changes([]ratecard.GridRow{category, row("plumber", 1, 0), row("roofer", 0, -1)})
	if len(changes) != 2 || changes[0].Minor != 4560 ||
		changes[1] != (ratecard.BaseChange{Target: pricingrules.Target{Industry: "roofer", Country: "GB"}, Minor: 4560}) {
		t.Errorf("got changes %+v for a set amount", changes)
	}
}

// The grid shows the result of a bulk change. If a base price would be too large, the error contains the
// cell, and nothing changes.
func TestBulkChangeOfDraft(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000, pricingrules.Rule{Industry: "roofer", Base: gbp(pricingrules.MaxAmount)}))
	card := w.draft(t)
	view := ratecard.GridView{Country: "GB", Category: "home-services"}
	grid := func() []ratecard.GridRow {
		compiled, err := w.ExamineCard(t.Context(), w.now(t, card.ID))
		must(t, err)
		return w.Grid(compiled, nil, view)
	}
	_, err := w.SetBases(t.Context(), card.ID, card.RowVersion, "+5 %", ratecard.Bulk{Percent: 500}.Changes(grid()))
	rejected(t, err, apperr.Invalid, "amount", "industry: roofer, country: GB")
	view.Search = "lock"
	rules, err := w.SetBases(t.Context(), card.ID, card.RowVersion, "+5 %", ratecard.Bulk{Percent: 500}.Changes(grid()))
	if err != nil || rules != len(grid())-1 || rules == 0 {
		t.Fatalf("got %d changed rules (%v), want one for each industry", rules, err)
	}
	for _, row := range grid()[1:] {
		if !row.Base.Direct || row.Base.Minor != 1050 || row.Price != "10.50 GBP" {
			t.Errorf("got row %+v, want base price 1050", row)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	w := newRateCards(t)
	compiled := w.compiled(t, pricingrules.Rule{Base: all(1000)}, pricingrules.Rule{Urgency: "emergency", Multiplier: 15_000}, pricingrules.Rule{Country: "other", Multiplier: 5_000},
		pricingrules.Rule{Industry: "roofer", Exclude: pricingrules.ExcludeTrue})
	own := pricingrules.PartnerPricing{
		Adjustment: 500,
		Exclusions: []pricingrules.PartnerExclusion{{Country: "PL"}, {Category: "legal-services"}},
	}
	for _, c := range []struct {
		lead  ratecard.Lead
		own   pricingrules.PartnerPricing
		name  string
		price string
		mine  bool
	}{
		{ratecard.Lead{Industry: "plumber", Country: "GB"}, pricingrules.PartnerPricing{}, "plumber/GB/standard",
			"10.00 GBP", false},
		{ratecard.Lead{
			Industry: " plumber ",
			Country:  " gb ",
			Urgency:  " EMERGENCY ",
		}, pricingrules.PartnerPricing{}, "plumber/GB/emergency", "15.00 GBP", false},
		{ratecard.Lead{
			Industry: "plumber",
			Country:  "GB",
			Urgency:  "whenever it suits",
		}, own, "plumber/GB/standard", "10.50 GBP", false},
		{ratecard.Lead{Industry: "plumber", Country: "pl"}, pricingrules.PartnerPricing{}, "plumber/other/standard",
			"5.00 GBP", false},
		{ratecard.Lead{Industry: "plumber", Country: "uk"}, own, "plumber/GB/standard", "10.50 GBP", false},
		{ratecard.Lead{Industry: "plumber", Country: "other"}, own, "plumber/other/standard", "5.25 GBP", false},
		{ratecard.Lead{Industry: "plumber", Country: "PL"}, own, "plumber/other/standard", "5.25 GBP", true},
		{ratecard.Lead{Industry: "adoption-lawyer", Country: "FR"}, own, "adoption-lawyer/FR/standard", "10.50 EUR", true},
		{ratecard.Lead{Industry: "roofer", Country: "FR"}, own, "roofer/FR/standard", "excluded", false},
	} {
		e, err := ratecard.Explain(compiled, c.lead, c.own)
		if err != nil || e.Name() != c.name || e.Cell.String() != c.price || e.PartnerExclusion != c.mine {
			t.Errorf("%+v: got %s at %v, partner exclusion %t (%v)", c.lead, e.Name(), e.Cell, e.PartnerExclusion, err)
		}
		if text := e.String(); !strings.HasPrefix(text, c.name+": ") {
			t.Errorf("%+v: got text\n%s", c.lead, text)
		}
	}
	for _, lead := range []ratecard.Lead{
		{Industry: "plumbr", Country: "GB"},
		{Country: "GB"},
		{Industry: "home-services", Country: "GB"},
	} {
		_, err := ratecard.Explain(compiled, lead, own)
		rejected(t, err, apperr.Invalid, "industry")
	}
	for _, country := range []string{"", "GBR", "G", "G1", "ÄÖ", "é"} {
		_, err := ratecard.Explain(compiled, ratecard.Lead{Industry: "plumber", Country: country}, own)
		rejected(t, err, apperr.Invalid, "country")
	}
}

// Explain reports that a cell in a draft has no price.
func TestExplainGap(t *testing.T) {
	t.Parallel()
	w := newRateCards(t)
	e, err := ratecard.Explain(w.compiled(t, pricingrules.Rule{Base: gbp(1000)}),
		ratecard.Lead{Industry: "plumber", Country: "FR"}, pricingrules.PartnerPricing{Adjustment: 500})
	if err != nil || !e.Cell.Gap() || len(e.Steps) != 0 || !strings.Contains(e.String(), "plumber/FR/standard: no price") {
		t.Errorf("got explanation %s (%v)", e, err)
	}
}

func TestClasses(t *testing.T) {
	t.Parallel()
	if got := slices.Collect(ratecard.Classes()); !slices.Equal(got, []string{"standard", "emergency", "immediate", "urgent", "flexible"}) {
		t.Errorf("got %v", got)
	}
	for first := range ratecard.Classes() {
		if first != "standard" {
			t.Errorf("got %s first, want standard", first)
		}
		break
	}
}
