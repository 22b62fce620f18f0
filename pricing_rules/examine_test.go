package pricingrules

import (
	"errors"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/base/money"
)

// cells calls a function for every cell.
func cells(tax *Taxonomy, markets *Markets, do func(industry, market int, class Class)) {
	for i := range tax.Len() {
		for m := range markets.Len() {
			for class := range Class(Classes) {
				do(i, m, class)
			}
		}
	}
}

// brokenRules lists rules that are not valid. Each is invalid for a different reason.
var brokenRules = []Rule{
	{Industry: "baker", Base: Amounts{money.GBP: 1}},
	{Category: "food", Exclude: ExcludeTrue},
	{Country: "PL", Base: Amounts{money.GBP: 1}},
	{Urgency: "soon", Multiplier: 20_000},
	{Industry: "plumber", Category: "home", Exclude: ExcludeTrue},
	{Industry: "plumber", Base: Amounts{money.GBP: -1}},
	{Floor: Amounts{money.EUR: MaxAmount + 1}},
	{Country: "GB", Multiplier: -1},
	{Multiplier: MaxMultiplier + 1},
	{Exclude: 3},
	{Country: "GB", Exclude: ExcludeTrue, Note: "two\nlines"},
}

// Examine must calculate prices where possible, ignore rules that are not valid, and report the same
// problems as Compile.
func TestExamineMatchesNaivePricing(t *testing.T) {
	tax, markets := small(t)
	// check inserts rules that are not valid into a card whose rules are all valid.
	check := func(t rapid.TB, good Card, at int, broken ...Rule) (hasGap bool, problems Problems) {
		t.Helper()
		card := Card{Rules: slices.Insert(slices.Clone(good.Rules), at, broken...)}
		table, problems := Examine(card, tax, markets)
		cells(tax, markets, func(i, m int, class Class) {
			minor, excluded, ok := naive{good, tax.At(i), markets.At(m), class}.price()
			want := Cell{Minor: minor, Currency: markets.At(m).Currency, Excluded: excluded}
			if !ok {
				want, hasGap = Cell{Currency: want.Currency}, true
			}
			got := table.Price(i, m, class)
			if got != want || got.Gap() != !ok {
				t.Fatalf("%s: got %+v, want %+v", cellName(tax.At(i), markets.At(m), class), got, want)
			}
			if e := table.ExplainFor(i, m, class, 500); e.Cell.Excluded != excluded || e.String() == "" {
				t.Fatalf("got explanation %s", e)
			}
		})
		_, err := Compile(card, tax, markets)
		var rejected Problems
		if errors.As(err, &rejected); !slices.Equal(problems, rejected) {
			t.Fatalf("got problems\n%v\nand from Compile\n%v", problems, rejected)
		}
		return hasGap, problems
	}
	complete, gaps, conflicts := cardsOfEachKind()
	if hasGap, problems := check(t, complete, 0); hasGap || len(problems) > 0 {
		t.Errorf("complete card: got gaps %t and problems %v, want none", hasGap, problems)
	}
	if hasGap, problems := check(t, gaps, 0); !hasGap || len(problems) == 0 {
		t.Errorf("card with gaps: got gaps %t and problems %v", hasGap, problems)
	}
	if hasGap, problems := check(t, conflicts, 0); hasGap || len(problems) == 0 || !conflict(conflicts) {
		t.Errorf("card with conflicts: got gaps %t and problems %v", hasGap, problems)
	}
	for _, good := range []Card{complete, gaps, conflicts} {
		for _, rule := range brokenRules {
			for at := range len(good.Rules) + 1 {
				check(t, good, at, rule)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		good := smallCards().Draw(t, "card")
		broken := rapid.SliceOfN(rapid.SampledFrom(brokenRules), 0, 1).Draw(t, "broken")
		check(t, good, rapid.IntRange(0, len(good.Rules)).Draw(t, "at"), broken...)
	})
}

// Rules that are not valid are reported and do not affect prices.
func TestExamineSkipsInvalidRules(t *testing.T) {
	tax, markets := small(t)
	for _, rule := range brokenRules {
		table, problems := Examine(Card{Rules: []Rule{rule, {Base: Amounts{money.GBP: 1000, money.EUR: 1200}}}}, tax, markets)
		if len(problems) == 0 || problems[0].Rule != 0 {
			t.Errorf("%+v: got problems %v, want one in the first rule", rule, problems)
		}
		cells(tax, markets, func(i, m int, class Class) {
			if got := table.Price(i, m, class).Minor; got != []int64{1000, 1200, 1000}[m] {
				t.Errorf("%+v: got price %d for %s", rule, got, cellName(tax.At(i), markets.At(m), class))
			}
		})
	}
}

// Conflicts with rules that are not valid are reported, so that both can be fixed together.
func TestExamineReportsConflictsWithInvalidRules(t *testing.T) {
	tax, markets := small(t)
	_, problems := Examine(Card{Rules: []Rule{
		{Base: Amounts{money.GBP: -1}},
		{Base: Amounts{money.GBP: 1000}},
	}}, tax, markets)
	const want = "rule 1\nrule 2"
	if got := essence(problems); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// PriceFor must apply the adjustment to the exact price and round once.
func TestPriceForMatchesNaivePricing(t *testing.T) {
	tax, markets := small(t)
	rapid.Check(t, func(t *rapid.T) {
		card := smallCards().Draw(t, "card")
		adjustment := rapid.OneOf(rapid.SampledFrom([]int{0, MinAdjustment, MaxAdjustment, 500, -2500}),
			rapid.IntRange(MinAdjustment, MaxAdjustment)).Draw(t, "adjustment")
		table, _ := Examine(card, tax, markets)
		cells(tax, markets, func(i, m int, class Class) {
			cell := table.Price(i, m, class)
			if got := table.PriceFor(i, m, class, 0); got != cell {
				t.Fatalf("got %v with an adjustment of 0, want %v", got, cell)
			}
			want := cell
			if cell.Minor > 0 {
				value, _, _ := naive{card, tax.At(i), markets.At(m), class}.value()
				want.Minor = max(halfEven(value.Mul(value, big.NewRat(int64(MultiplierOne+adjustment), MultiplierOne))), 1)
				if adjustment == 0 {
					want = cell
				}
			}
			if got := table.PriceFor(i, m, class, adjustment); got != want {
				t.Fatalf("%v with %s: got %v, want %v", cell, FormatAdjustment(adjustment), got, want)
			}
		})
	})
}

func TestInversions(t *testing.T) {
	tax, markets := small(t)
	all := Rule{Base: Amounts{money.GBP: 1000, money.EUR: 1200}}
	orderly := []Rule{all, {Urgency: "emergency", Multiplier: 16_000}, {Urgency: "immediate", Multiplier: 14_000},
		{Urgency: "urgent", Multiplier: 12_000}, {Urgency: "flexible", Multiplier: 8_500}}
	if found := compiled(t, tax, markets, orderly...).Inversions(); len(found) != 0 {
		t.Errorf("got %v, want no inversions", found)
	}
	rules := append(slices.Clone(orderly),
		Rule{Industry: "plumber", Country: "GB", Urgency: "urgent", Multiplier: 10_000},   // not above the standard price
		Rule{Industry: "plumber", Country: "FR", Urgency: "flexible", Multiplier: 11_000}, // above the standard price
		Rule{Industry: "notary", Country: "FR", Urgency: "emergency", Exclude: ExcludeTrue},
		Rule{Industry: "notary", Country: "GB", Urgency: "standard", Exclude: ExcludeTrue})
	got := compiled(t, tax, markets, rules...).Inversions()
	if len(got) != 2 || cellName(got[0].Industry, got[0].Market, got[0].Class) != "plumber/GB/urgent" ||
		got[0].Price.Minor != 1000 || got[0].Standard.Minor != 1000 ||
		cellName(got[1].Industry, got[1].Market, got[1].Class) != "plumber/FR/flexible" ||
		got[1].Price.Minor != 1320 || got[1].Standard.Minor != 1200 {
		t.Errorf("got %+v", got)
	}
	if found := shippedTable(t).Inversions(); len(found) != 0 {
		t.Errorf("got inversions %v in the shipped card", found)
	}
	// Inversions skips cells without a price.
	table, _ := Examine(Card{Rules: []Rule{
		{Urgency: "urgent", Base: Amounts{money.GBP: 1}},
		{Industry: "plumber", Base: Amounts{money.GBP: 2}},
	}}, tax, markets)
	if found := table.Inversions(); len(found) == 0 || slices.ContainsFunc(found, func(i Inversion) bool {
		return i.Industry.Slug != "plumber" || i.Price.Minor != 2 && i.Class != Urgent || i.Market.Code == "FR"
	}) {
		t.Errorf("got %+v", found)
	}
}

func TestPartnerPricingExcludes(t *testing.T) {
	plumber := Industry{Slug: "plumber", Category: "home"}
	for _, c := range []struct {
		exclusions string
		country    string
		want       bool
	}{
		{`[]`, "GB", false},
		{`null`, "GB", false},
		{`[{}]`, "GB", true},
		{`[{"industry":"plumber"}]`, "GB", true},
		{`[{"industry":"roofer"}]`, "GB", false},
		{`[{"category":"home"}]`, "PL", true},
		{`[{"category":"law"}]`, "PL", false},
		{`[{"country":"PL"}]`, "PL", true},
		{`[{"country":"PL"}]`, "GB", false},
		{`[{"industry":"plumber","country":"GB"}]`, "FR", false},
		{`[{"industry":"plumber","country":"GB"},{"country":"FR"}]`, "FR", true},
	} {
		list, err := ParseExclusions([]byte(c.exclusions))
		if err != nil {
			t.Fatal(err)
		}
		if got := (PartnerPricing{Adjustment: 500, Exclusions: list}).Excludes(plumber, c.country); got != c.want {
			t.Errorf("%s in %s: got %t, want %t", c.exclusions, c.country, got, c.want)
		}
	}
	for _, text := range []string{``, `{}`, `["plumber"]`, `[{"industry":1}]`} {
		if list, err := ParseExclusions([]byte(text)); err == nil {
			t.Errorf("ParseExclusions(%s) = %v, want an error", text, list)
		}
	}
}
