package pricingrules

// Target is what a rule selects; "" is any. Rules of one target give it their
// effects together.
type Target struct{ Industry, Category, Country, Urgency string }

// Target is the rule's.
func (r Rule) Target() Target { return Target{r.Industry, r.Category, r.Country, r.Urgency} }

// For is the rule with another target.
func (r Rule) For(t Target) Rule {
	r.Industry, r.Category, r.Country, r.Urgency = t.Industry, t.Category, t.Country, t.Urgency
	return r
}

// String names in words the cells of the target.
func (t Target) String() string { return Rule{}.For(t).Selector() }

// Base is what a target's price starts from in one market. Rule is the position of
// the rule that gives it, -1 where none does. Own says that the rule's target is this
// very one; else it is inherited from a broader one.
type Base struct {
	Minor  int64
	Rule   int
	Direct bool
}

// BaseOf is the base of a target, in the currency of its market: of the rules whose
// target holds all of it, the most specific. A target without a market, or with words
// that are not of the taxonomy, has none.
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

// broader is a scope and those that hold all of it, the most specific first.
func (ix *index) broader(scope int) []int {
	switch {
	case scope == anything:
		return []int{anything}
	case scope < ix.ofIndustry(0):
		return []int{scope, anything}
	}
	return []int{scope, ix.ofCategory(ix.tax.categoryOf[scope-ix.ofIndustry(0)]), anything}
}
