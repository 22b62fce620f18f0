package pricingrules

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/base/money"
)

// smallTargets returns all targets that name a market, for a small taxonomy.
func smallTargets(tax *Taxonomy, markets *Markets) (list []Target) {
	scopes := []Target{{}}
	for _, category := range tax.Categories() {
		scopes = append(scopes, Target{Category: category.Slug})
	}
	for _, industry := range tax.Industries() {
		scopes = append(scopes, Target{Industry: industry.Slug})
	}
	for _, target := range scopes {
		for m := range markets.Len() {
			target.Country = markets.At(m).Code
			for _, target.Urgency = range append([]string{""}, classNames[:]...) {
				list = append(list, target)
			}
		}
	}
	return list
}

// inherits computes BaseOf by checking every rule. With amountsOf, it does the same for another amount of a rule.
func inherits(
	card Card, tax *Taxonomy, target Target, currency money.Currency, amountsOf func(Rule) Amounts,
) Base {
	category := target.Category
	if i, ok := tax.BySlug(target.Industry); ok {
		category = tax.At(i).Category
	}
	best, highest := Base{Rule: -1}, -1
	for i, r := range card.Rules {
		applies := (r.Industry == "" || r.Industry == target.Industry) && (r.Category == "" || r.Category == category) &&
			(r.Country == "" || r.Country == target.Country) && (r.Urgency == "" || r.Urgency == target.Urgency)
		rank := 0
		for _, part := range []struct {
			named bool
			worth int
		}{{r.Industry != "", 200}, {r.Category != "", 100}, {r.Country != "", 10}, {r.Urgency != "", 1}} {
			if part.named {
				rank += part.worth
			}
		}
		if applies && amountsOf(r)[currency] != 0 && rank > highest {
			best, highest = Base{Minor: amountsOf(r)[currency], Rule: i, Direct: r.Target() == target}, rank
		}
	}
	return best
}

// BaseOf and CeilingOf must return the same result as inherits, and the base price must be that of the cell's
// explanation.
func TestBaseOfMatchesNaivePricing(t *testing.T) {
	tax, markets := small(t)
	check := func(t rapid.TB, card Card) (own, inherited, none, steps int) {
		t.Helper()
		table, _ := Examine(card, tax, markets)
		for _, target := range smallTargets(tax, markets) {
			m, _ := markets.ByCode(target.Country)
			got := table.BaseOf(target)
			currency := markets.At(m).Currency
			if want := inherits(card, tax, target, currency, func(r Rule) Amounts { return r.Base }); got != want {
				t.Fatalf("%s: got %+v, want %+v", target, got, want)
			}
			ceiling := inherits(card, tax, target, currency, func(r Rule) Amounts { return r.Ceiling })
			if got := table.CeilingOf(target); got != ceiling.Minor {
				t.Fatalf("%s: got the ceiling %d, want %d", target, got, ceiling.Minor)
			}
			switch {
			case got.Direct:
				own++
			case got.Rule >= 0:
				inherited++
			default:
				none++
			}
			if target.Industry == "" || target.Urgency == "" {
				continue
			}
			i, _ := tax.BySlug(target.Industry)
			class, _ := ParseClass(target.Urgency)
			for _, step := range table.Explain(i, m, class).Steps {
				if step.Name == "base" {
					if steps++; step.Rule != got.Rule || step.Value != decimal(got.Minor) {
						t.Fatalf("%s: got %+v, but the explanation has %+v", target, got, step)
					}
				}
			}
		}
		return own, inherited, none, steps
	}
	complete, gaps, conflicts := cardsOfEachKind()
	if own, inherited, none, steps := check(t, complete); own == 0 || inherited == 0 || none != 0 || steps == 0 {
		t.Errorf("complete card: got %d own, %d inherited, %d missing and %d explained base prices", own, inherited, none, steps)
	}
	if own, inherited, none, steps := check(t, gaps); own == 0 || inherited == 0 || none == 0 || steps == 0 {
		t.Errorf("card with gaps: got %d own, %d inherited, %d missing and %d explained base prices", own, inherited, none, steps)
	}
	check(t, conflicts)
	rapid.Check(t, func(t *rapid.T) { check(t, smallCards().Draw(t, "card")) })
}

func TestBaseOfInvalidTarget(t *testing.T) {
	tax, markets := small(t)
	table := compiled(t, tax, markets, Rule{Base: Amounts{money.GBP: 1000, money.EUR: 1200}})
	for _, target := range []Target{
		{},
		{Industry: "plumber"},
		{Industry: "baker", Country: "GB"},
		{Category: "plumber", Country: "GB"},
		{Country: "PL"},
		{Country: "GB", Urgency: "soon"},
		{Industry: "plumber", Category: "home", Country: "GB"},
	} {
		if got := table.BaseOf(target); got != (Base{Rule: -1}) {
			t.Errorf("%s: got %+v, want no base price", target, got)
		}
		if got := table.CeilingOf(target); got != 0 {
			t.Errorf("%s: got the ceiling %d, want none", target, got)
		}
	}
}

func TestTargets(t *testing.T) {
	rule := Rule{Industry: "plumber", Country: "GB", Urgency: "urgent", Multiplier: 12_000, Note: "a note"}
	target := Target{Category: "home", Country: "FR"}
	moved := rule.For(target)
	if moved.Target() != target || moved.Multiplier != 12_000 || moved.Note != "a note" ||
		rule.Target() != (Target{Industry: "plumber", Country: "GB", Urgency: "urgent"}) {
		t.Errorf("got %+v from %+v with target %v", moved, rule, target)
	}
	for want, target := range map[string]Target{
		"every lead":                  {},
		"category: home, country: FR": target,
		"industry: plumber, country: GB, urgency: urgent": rule.Target(),
	} {
		if got := target.String(); got != want {
			t.Errorf("%+v: got %q, want %q", target, got, want)
		}
	}
}
