package pricingrules

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
	s, unknown, ok := t.index.selector(Rule{}.For(target))
	if !ok || len(unknown) > 0 || s.market == anything {
		return Base{Rule: -1}
	}
	currency := t.currencies[s.market-1]
	for _, scope := range t.index.broader(s.scope) {
		for _, market := range [...]int{s.market, anything} {
			for _, class := range [...]int{s.class, anything} {
				at := selector{scope, market, class}
				if rule := t.index.at(at).base[currency]; rule != 0 {
					return Base{Minor: t.rule(rule).Base[currency], Rule: int(rule) - 1, Direct: at == s}
				}
			}
		}
	}
	return Base{Rule: -1}
}

// The method broader returns the given scope, followed by the scopes that contain it, from the most to
// the least specific.
func (ix *index) broader(scope int) []int {
	switch {
	case scope == anything:
		return []int{anything}
	case scope < ix.ofIndustry(0):
		return []int{scope, anything}
	}
	return []int{scope, ix.ofCategory(ix.tax.categoryOf[scope-ix.ofIndustry(0)]), anything}
}
