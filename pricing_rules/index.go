package pricingrules

import (
	"github.com/pingpost/pingpost/internal/base/money"
)

// index finds the rules with a given selector in constant time. Each possible selector has a slot. A
// selector combines an industry, a category or "any" with a market or "any", and with a class or "any".
type index struct {
	tax     *Taxonomy
	markets *Markets
	slots   []int32   // indexes into effects; 0 if no rule has the selector
	effects []effects // the first element stays empty
}

// effects states which rule sets each effect for one selector. Each field is the rule's index plus one,
// or 0 if no rule sets the effect. Different rules can set different effects.
type effects struct {
	base, floor, ceiling [money.AUD + 1]int32
	multiplier, exclude  int32
}

// selector is a rule's selector, converted to numbers. 0 means any. The scope is a category or an
// industry, and the numbers of categories come before those of industries.
type selector struct{ scope, market, class int }

const anything = 0

func newIndex(tax *Taxonomy, markets *Markets) *index {
	scopes := 1 + len(tax.categories) + len(tax.industries)
	return &index{
		tax: tax, markets: markets,
		slots:   make([]int32, scopes*(1+markets.Len())*(1+Classes)),
		effects: make([]effects, 1),
	}
}

func (ix *index) ofCategory(category int) int { return 1 + category }
func (ix *index) ofIndustry(industry int) int { return 1 + len(ix.tax.categories) + industry }

func (ix *index) slot(s selector) int {
	return (s.scope*(1+ix.markets.Len())+s.market)*(1+Classes) + s.class
}

func (ix *index) at(s selector) *effects { return &ix.effects[ix.slots[ix.slot(s)]] }

// selector converts a rule's selector to numbers. If any part of it is not valid, the result ok is
// false. The result found contains only the problems that Rule.findings does not report.
func (ix *index) selector(r Rule) (s selector, found []finding, ok bool) {
	class, okUrgency := ParseClass(r.Urgency)
	if okUrgency {
		s.class = 1 + int(class)
	}
	if r.Category != "" {
		i, ok := ix.tax.byCategory[r.Category]
		if !ok {
			found = append(found, finding{"category", "category " + ix.tax.unknownCategory(r.Category)})
		}
		s.scope = ix.ofCategory(i)
	}
	if r.Industry != "" {
		i, ok := ix.tax.BySlug(r.Industry)
		if !ok {
			found = append(found, finding{"industry", "industry " + ix.tax.unknownIndustry(r.Industry)})
		}
		s.scope = ix.ofIndustry(i)
	}
	if r.Country != "" {
		i, ok := ix.markets.ByCode(r.Country)
		if !ok {
			found = append(found, finding{"country", "country " + ix.markets.noMarket(r.Country)})
		}
		s.market = 1 + i
	}
	ok = len(found) == 0 && (okUrgency || r.Urgency == "") && (r.Industry == "" || r.Category == "")
	return s, found, ok
}

// add adds a rule to the slot of its selector. If an earlier rule already sets the same effect for the
// same selector, add calls the function clash. Its arguments are the field and the name of the effect,
// and the index of the earlier rule.
func (ix *index) add(s selector, position int, r Rule, clash func(field, effect string, with int)) {
	slot := &ix.slots[ix.slot(s)]
	if *slot == 0 {
		*slot = int32(len(ix.effects))
		ix.effects = append(ix.effects, effects{})
	}
	e := &ix.effects[*slot]
	enter := func(to *int32, field, effect string) {
		if *to != 0 {
			clash(field, effect, int(*to)-1)
			return
		}
		*to = int32(position) + 1
	}
	amounts := func(to *[money.AUD + 1]int32, from Amounts, field string) {
		for _, currency := range money.Currencies {
			if from[currency] != 0 {
				enter(&to[currency], field, field+" in "+currency.String())
			}
		}
	}
	amounts(&e.base, r.Base, "base")
	amounts(&e.floor, r.Floor, "floor")
	amounts(&e.ceiling, r.Ceiling, "ceiling")
	if r.Multiplier != 0 {
		enter(&e.multiplier, "multiplier", "multiplier")
	}
	if r.Exclude != ExcludeUnset {
		enter(&e.exclude, "exclude", "exclude")
	}
}

// winners identifies the rules that determine the price of one cell. Each field is a rule's index plus
// one, or 0 if no rule sets that effect.
type winners struct {
	base, floor, ceiling       int32
	industry, country, urgency int32 // the multipliers, by kind
	exclude                    int32
}

// resolve finds the winning rules for a cell. It goes through the selectors that match the cell,
// starting with the most specific. For each effect, the first rule that sets it wins. A multiplier is an
// urgency multiplier if its rule's selector has an urgency. Otherwise, it is a country multiplier if the
// selector has a country, and an industry multiplier if it does not.
func (ix *index) resolve(industry, market int, class Class) winners {
	currency := ix.markets.list[market].Currency
	scopes := [...]int{ix.ofIndustry(industry), ix.ofCategory(ix.tax.categoryOf[industry]), anything}
	var w winners
	for _, scope := range scopes {
		for _, m := range [...]int{1 + market, anything} {
			for _, c := range [...]int{1 + int(class), anything} {
				e := ix.at(selector{scope, m, c})
				first(&w.base, e.base[currency])
				first(&w.floor, e.floor[currency])
				first(&w.ceiling, e.ceiling[currency])
				first(&w.exclude, e.exclude)
				switch {
				case c != anything:
					first(&w.urgency, e.multiplier)
				case m != anything:
					first(&w.country, e.multiplier)
				default:
					first(&w.industry, e.multiplier)
				}
			}
		}
	}
	return w
}

func first(to *int32, candidate int32) {
	if *to == 0 {
		*to = candidate
	}
}
