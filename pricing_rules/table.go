package pricingrules

import (
	"fmt"
	"slices"

	"github.com/pingpost/pingpost/internal/base/money"
)

// Cell contains the price for an industry, a market and an urgency class. Minor is the price in minor
// units of Currency. It is 0 if the cell is excluded (decision 4). In a table from Examine, it is also 0
// if the cell has no price.
type Cell struct {
	Minor    int64
	Currency money.Currency
	Excluded bool
}

// Gap reports whether the cell is not excluded, but has no price.
func (c Cell) Gap() bool { return c.Minor == 0 && !c.Excluded }

// String returns "45.60 GBP", "excluded" or "no price".
func (c Cell) String() string {
	switch {
	case c.Excluded:
		return "excluded"
	case c.Gap():
		return "no price"
	}
	return money.Amount{Minor: c.Minor, Currency: c.Currency}.String()
}

// Table is a compiled rate card. It contains the price of every cell. It is immutable and safe for
// concurrent use.
type Table struct {
	card       Card
	index      *index
	currencies []money.Currency
	prices     [][Classes]int64 // one element for each industry and market
}

const excludedPrice = -1

// Price returns a cell. The parameters industry and market are indexes into the table's taxonomy and
// markets. Price panics if an index is out of range.
func (t *Table) Price(industry, market int, class Class) Cell {
	cell := Cell{Currency: t.currencies[market]}
	if minor := t.prices[industry*len(t.currencies)+market][class]; minor != excludedPrice {
		cell.Minor = minor
	} else {
		cell.Excluded = true
	}
	return cell
}

// Taxonomy returns the taxonomy that the table's industry indexes refer to.
func (t *Table) Taxonomy() *Taxonomy { return t.index.tax }

// Markets returns the markets that the table's market indexes refer to.
func (t *Table) Markets() *Markets { return t.index.markets }

// Rules returns a copy of the rate card's rules. Step.Rule is an index into this copy.
func (t *Table) Rules() []Rule { return slices.Clone(t.card.Rules) }

// Compile calculates the price of every cell. The error has type Problems. It lists problems with rules
// or, if all rules are valid, the cells that have no price, a floor above their ceiling, or a price
// above MaxAmount.
func Compile(card Card, tax *Taxonomy, markets *Markets) (*Table, error) {
	table, problems := compile(source{card: card}, tax, markets, true)
	if err := problems.err(); err != nil {
		return nil, err
	}
	return table, nil
}

// Examine compiles a draft. It reports the same problems as Compile, but always returns a table. In this
// table, cells without a price are gaps. Rules that are not valid have no effect, and if two rules
// conflict, the first one wins.
func Examine(card Card, tax *Taxonomy, markets *Markets) (*Table, Problems) {
	table, wrong := indexRules(source{card: card}, tax, markets, false)
	gaps := table.calculatePrices()
	if len(wrong) > 0 {
		return table, Check(card, tax, markets) // Check also reports conflicts with rules that are not valid
	}
	gaps.sort()
	return table, gaps
}

// compile compiles a rate card. The parameter whole states whether the file was read completely. If it
// was not, or if a rule is not valid, compile calculates no prices, because it would report many gaps
// that are only consequences of other problems.
func compile(src source, tax *Taxonomy, markets *Markets, whole bool) (*Table, Problems) {
	table, problems := indexRules(src, tax, markets, true)
	if len(problems) > 0 || !whole {
		return nil, problems
	}
	problems = table.calculatePrices()
	return table, problems
}

// indexRules adds the rules to the index of a new table and reports problems with them. It does not
// calculate prices. If the parameter withWrong is true, it also adds rules that are not valid, so that
// conflicts with them are reported.
func indexRules(src source, tax *Taxonomy, markets *Markets, withWrong bool) (*Table, Problems) {
	var problems Problems
	ix := newIndex(tax, markets)
	for i, rule := range src.card.Rules {
		found := src.findings(i)
		problems = append(problems, found...)
		s, unknown, ok := ix.selector(rule)
		for _, f := range unknown {
			problems = append(problems, src.problem(i, f.field, f.message))
		}
		if !ok || src.read(i).loose || (len(found) > 0 && !withWrong) {
			continue
		}
		ix.add(s, i, rule, func(field, effect string, with int) {
			problems = append(problems, src.problem(i, field, fmt.Sprintf(
				"%s for “%s” is already set by %s; keep one", effect, rule.Selector(), src.card.place(with))))
		})
	}
	t := &Table{
		card:   Card{File: src.card.File, Rules: slices.Clone(src.card.Rules)},
		index:  ix,
		prices: make([][Classes]int64, tax.Len()*markets.Len()),
	}
	for _, market := range markets.list {
		t.currencies = append(t.currencies, market.Currency)
	}
	return t, problems
}

// place identifies a rule by its line number or, if the card has no file, by its position in the card.
func (c Card) place(rule int) string {
	if line := c.Rules[rule].Line; line > 0 {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("rule %d", rule+1)
}

// Check reports rules that are not valid and conflicts between rules. It does not calculate prices.
func Check(card Card, tax *Taxonomy, markets *Markets) Problems {
	_, problems := indexRules(source{card: card}, tax, markets, true)
	problems.sort()
	return problems
}
