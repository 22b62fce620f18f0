package pricingrules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pingpost/pingpost/internal/base/money"
)

type flawKind uint8

const (
	sound   flawKind = iota
	noBase           // no rule sets a base price in the market's currency
	nothing          // the price rounds to 0
	tooMuch          // the price is above MaxAmount
	crossed          // the floor is above the ceiling
)

// flaw is a reason why a cell has no price. The fields rule and other identify the rules to fix. Each of
// them is a rule's index plus one, or 0 if there is no rule.
type flaw struct {
	kind        flawKind
	currency    money.Currency
	rule, other int32
}

type cellIndex struct {
	industry, market int
	class            Class
}

// flaws contains the cells without a price, grouped by reason. One missing base price can affect
// thousands of cells, so these cells are reported together.
type flaws struct {
	order []flaw
	spots map[flaw][]cellIndex
}

func (fs *flaws) add(f flaw, s cellIndex) {
	if fs.spots == nil {
		fs.spots = map[flaw][]cellIndex{}
	}
	if _, known := fs.spots[f]; !known {
		fs.order = append(fs.order, f)
	}
	fs.spots[f] = append(fs.spots[f], s)
}

func (fs *flaws) problems(t *Table) Problems {
	var problems Problems
	for _, f := range fs.order {
		for _, where := range t.areas(fs.spots[f]) {
			p := Problem{File: t.card.File, Rule: int(f.rule) - 1, Message: "for " + where + ", " + t.describe(f)}
			if f.rule != 0 {
				p.Line = t.rule(f.rule).Line
			}
			problems = append(problems, p)
		}
	}
	return problems
}

func (t *Table) describe(f flaw) string {
	switch f.kind {
	case noBase:
		return fmt.Sprintf("no rule sets a base price in %s; add one or exclude the cells", f.currency)
	case nothing:
		return fmt.Sprintf("the price in %s rounds to 0; raise it or add a floor", f.currency)
	case tooMuch:
		return fmt.Sprintf("the price is above %s %s; lower it or add a ceiling", decimal(MaxAmount), f.currency)
	default: // crossed
		return fmt.Sprintf("the floor of %s %s is above the ceiling of %s %s set by %s",
			decimal(t.rule(f.rule).Floor[f.currency]), f.currency,
			decimal(t.rule(f.other).Ceiling[f.currency]), f.currency, t.card.place(int(f.other)-1))
	}
}

// areas describes the given cells, which must be ordered by industry. Industries whose cells have the
// same countries and classes share one description.
func (t *Table) areas(spots []cellIndex) []string {
	var order []string
	industries := map[string][]int{}
	for len(spots) > 0 {
		n := 1
		for n < len(spots) && spots[n].industry == spots[0].industry {
			n++
		}
		shape := t.shape(spots[:n])
		if _, known := industries[shape]; !known {
			order = append(order, shape)
		}
		industries[shape] = append(industries[shape], spots[0].industry)
		spots = spots[n:]
	}
	for i, shape := range order {
		order[i] = t.industriesText(industries[shape]) + " in " + shape
	}
	return order
}

func (t *Table) shape(spots []cellIndex) string {
	masks := map[int]uint8{} // the classes in each market, as bits
	var markets []int
	for _, s := range spots {
		if masks[s.market] == 0 {
			markets = append(markets, s.market)
		}
		masks[s.market] |= 1 << s.class
	}
	var parts []string
	done := map[uint8]bool{}
	for _, market := range markets {
		mask := masks[market]
		if done[mask] {
			continue
		}
		done[mask] = true
		var codes []string
		for _, other := range markets {
			if masks[other] == mask {
				codes = append(codes, t.index.markets.list[other].Code)
			}
		}
		parts = append(parts, some(codes, t.index.markets.Len(), "all countries")+" ("+classesText(mask)+")")
	}
	return strings.Join(parts, " and ")
}

func classesText(mask uint8) string {
	var names []string
	for class := range Class(Classes) {
		if mask&(1<<class) != 0 {
			names = append(names, class.String())
		}
	}
	return some(names, Classes, "all urgencies")
}

// industriesText lists the given industries. If they are exactly the industries of one category, it
// names the category instead.
func (t *Table) industriesText(list []int) string {
	tax := t.index.tax
	category := tax.categoryOf[list[0]]
	size := 0
	for _, c := range tax.categoryOf {
		if c == category {
			size++
		}
	}
	outside := func(industry int) bool { return tax.categoryOf[industry] != category }
	if len(list) == size && size > 1 && size < tax.Len() && !slices.ContainsFunc(list, outside) {
		return "all industries of " + tax.categories[category].Slug
	}
	slugs := make([]string, len(list))
	for i, industry := range list {
		slugs[i] = tax.industries[industry].Slug
	}
	return some(slugs, tax.Len(), "all industries")
}

// The function some lists the first few names and states how many more there are. The parameter all is
// the number of possible names. If the list names contains all of them, the function returns the text
// every.
func some(names []string, all int, every string) string {
	const most = 5
	switch {
	case len(names) == all:
		return every
	case len(names) <= most:
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most-1], ", "), len(names)-most+1)
}
