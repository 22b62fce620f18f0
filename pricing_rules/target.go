package pricingrules

import "github.com/pingpost/pingpost/internal/base/money"

// Target is the selector of a rule. A field that is "" matches everything.
type Target struct{ Industry, Category, Country, Urgency string }

// Target returns the rule's target.
func (r Rule) Target() Target { return Target{r.Industry, r.Category, r.Country, r.Urgency} }

// For returns a copy of the rule with the given target.
func (r Rule) For(t Target) Rule {
	r.Industry, r.Category, r.Country, r.Urgency = t.Industry, t.Category, t.Country, t.Urgency
	return r
}

// String describes the cells that the target selects, in the same form as Rule.Selector.
func (t Target) String() string { return Rule{}.For(t).Selector() }

// Base is the base price that applies to a target in one market.
type Base struct {
	Minor  int64
	Rule   int  // the index of the rule that sets the base price; -1 if there is none
	Direct bool // the rule has exactly this target; otherwise the target inherits the base price
}

// BaseOf returns the base price of a target in the currency of the target's market. The price comes
// from the most specific rule that applies to the target. A target has no base price if it does not
// name a market, or if any of its names is unknown.
func (t *Table) BaseOf(target Target) Base {
	currency, rule, direct := t.amountOf(target, func(e *effects) [money.AUD + 1]int32 { return e.base })
	if rule == 0 {
		return Base{Rule: -1}
	}
	return Base{Minor: t.rule(rule).Base[currency], Rule: int(rule) - 1, Direct: direct}
}

// CeilingOf returns the ceiling of a target in minor units of the currency of the target's market, or 0 if it has
// none. Like a base price, the ceiling comes from the most specific rule that applies to the target.
func (t *Table) CeilingOf(target Target) int64 {
	currency, rule, _ := t.amountOf(target, func(e *effects) [money.AUD + 1]int32 { return e.ceiling })
	return t.rule(rule).Ceiling[currency]
}

// amountOf finds the most specific rule that sets an amount for a target. It returns the currency of the target's
// market, the rule's index plus one, or 0 if no rule sets the amount, and whether the rule has exactly this target.
func (t *Table) amountOf(
	target Target, amounts func(*effects) [money.AUD + 1]int32,
) (currency money.Currency, rule int32, direct bool) {
	s, unknown, ok := t.index.selector(Rule{}.For(target))
	if !ok || len(unknown) > 0 || s.market == anything {
		return 0, 0, false
	}
	currency = t.currencies[s.market-1]
	for _, scope := range t.index.broaderScopes(s.scope) {
		for _, market := range [...]int{s.market, anything} {
			for _, class := range [...]int{s.class, anything} {
				at := selector{scope, market, class}
				if rule := amounts(t.index.at(at))[currency]; rule != 0 {
					return currency, rule, at == s
				}
			}
		}
	}
	return currency, 0, false
}

// broaderScopes returns the given scope, followed by the scopes that contain it, from the most to
// the least specific.
func (ix *index) broaderScopes(scope int) []int {
	switch {
	case scope == anything:
		return []int{anything}
	case scope < ix.ofIndustry(0):
		return []int{scope, anything}
	}
	return []int{scope, ix.ofCategory(ix.tax.categoryOf[scope-ix.ofIndustry(0)]), anything}
}
