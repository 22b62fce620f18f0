package pricingrules

import (
	"fmt"
	"slices"

	"github.com/pingpost/pingpost/internal/money"
)

// Cell is the price of an industry in a market at a class. Minor is above 0 in
// minor units of Currency, or 0 when the card excludes the cell (decision 4), or, in what
// Examine makes, when the card gives it no price.
type Cell struct {
	Minor    int64
	Currency money.Currency
	Excluded bool
}

// Gap reports that the card neither prices nor excludes the cell.
func (c Cell) Gap() bool { return c.Minor == 0 && !c.Excluded }

// String is for people: "45.60 GBP", "excluded" or "no price".
func (c Cell) String() string {
	switch {
	case c.Excluded:
		return "excluded"
	case c.Gap():
		return "no price"
	}
	return money.Amount{Minor: c.Minor, Currency: c.Currency}.String()
}

// Table is a compiled rate card: a price for every cell. It never changes, so any
// number of readers share one without a lock.
type Table struct {
	card       Card
	index      *index
	currencies []money.Currency
	prices     [][Classes]int64 // by industry × market
}

// excludedPrice is the price of an excluded cell.
const excludedPrice = -1

// Price is one look-up. The indexes are those of the table's own taxonomy and
// markets; others panic, as an index into a slice does.
func (t *Table) Price(industry, market int, class Class) Cell {
	cell := Cell{Currency: t.currencies[market]}
	if minor := t.prices[industry*len(t.currencies)+market][class]; minor != excludedPrice {
		cell.Minor = minor
	} else {
		cell.Excluded = true
	}
	return cell
}

// Taxonomy is what the table's industry indexes refer to.
func (t *Table) Taxonomy() *Taxonomy { return t.index.tax }

// Markets is what the table's market indexes refer to.
func (t *Table) Markets() *Markets { return t.index.markets }

// Rules are the card's rules, at the positions that Explain names.
func (t *Table) Rules() []Rule { return slices.Clone(t.card.Rules) }

// Compile prices every cell. The error is Problems: what is wrong with the rules
// and, once those are right, the cells that they leave without a price, with a
// floor above the ceiling, or above MaxAmount.
func Compile(card Card, tax *Taxonomy, markets *Markets) (*Table, error) {
	table, problems := compile(source{card: card}, tax, markets, true)
	if err := problems.err(); err != nil {
		return nil, err
	}
	return table, nil
}

// Examine is Compile for a card that is being worked on: its table has a price for
// every cell that has one, and gaps for the others. Rules that are wrong are left
// out, of two that clash the first decides. The problems are those of Compile.
func Examine(card Card, tax *Taxonomy, markets *Markets) (*Table, Problems) {
	table, wrong := enter(source{card: card}, tax, markets, false)
	gaps := table.fill()
	if len(wrong) > 0 {
		return table, Check(card, tax, markets) // with the clashes of what was left out
	}
	gaps.sort()
	return table, gaps
}

// compile leaves the cells alone unless every rule is right, and was read whole:
// gaps that follow from a rule already reported would bury the report.
func compile(src source, tax *Taxonomy, markets *Markets, whole bool) (*Table, Problems) {
	table, problems := enter(src, tax, markets, true)
	if len(problems) > 0 || !whole {
		return nil, problems
	}
	problems = table.fill()
	return table, problems
}

// enter puts the rules under their selectors; the cells are not priced yet. A rule
// that is wrong by itself is entered only where clashes with it are to be reported
// and nothing is priced.
func enter(src source, tax *Taxonomy, markets *Markets, withWrong bool) (*Table, Problems) {
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
				"%s is set twice for %s, here and by %s: keep one", effect, rule.Selector(), src.card.place(with))))
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

// fill prices the cells, and reports those that cannot be.
func (t *Table) fill() Problems {
	var bad flaws
	for industry := range t.index.tax.Len() {
		for market := range t.index.markets.Len() {
			row := &t.prices[industry*t.index.markets.Len()+market]
			for class := range Class(Classes) {
				minor, f := t.evaluate(t.index.resolve(industry, market, class), market)
				if f.kind != sound {
					bad.add(f, cellIndex{industry, market, class})
				}
				row[class] = minor
			}
		}
	}
	return bad.problems(t)
}

// evaluate is the meaning of the rules that decide a cell (the package comment
// has it in words).
func (t *Table) evaluate(w winners, market int) (minor int64, f flaw) {
	currency := t.currencies[market]
	if w.exclude != 0 && t.rule(w.exclude).Exclude == ExcludeTrue {
		return excludedPrice, flaw{}
	}
	if w.base == 0 {
		return 0, flaw{kind: noBase, currency: currency}
	}
	floor, ceiling := t.rule(w.floor).Floor[currency], t.rule(w.ceiling).Ceiling[currency]
	if floor != 0 && ceiling != 0 && floor > ceiling {
		return 0, flaw{kind: crossed, currency: currency, rule: w.floor, other: w.ceiling}
	}
	price := round(t.exact(w, currency))
	switch {
	case price == 0:
		return 0, flaw{kind: nothing, currency: currency, rule: w.base}
	case price > MaxAmount:
		return 0, flaw{kind: tooMuch, currency: currency, rule: w.base}
	}
	return int64(price), flaw{}
}

// exact is the price of a sound cell before it is rounded.
func (t *Table) exact(w winners, currency money.Currency) (whole, rest uint64) {
	whole, rest = exact(t.rule(w.base).Base[currency],
		t.multiplier(w.industry), t.multiplier(w.country), t.multiplier(w.urgency))
	return clamp(whole, rest, t.rule(w.floor).Floor[currency], t.rule(w.ceiling).Ceiling[currency])
}

// rule is a winner's rule, an empty one for 0.
func (t *Table) rule(winner int32) Rule {
	if winner == 0 {
		return Rule{}
	}
	return t.card.Rules[winner-1]
}

func (t *Table) multiplier(winner int32) int64 {
	if winner == 0 {
		return MultiplierOne
	}
	return t.rule(winner).Multiplier
}

// place names a rule for people: by its line where it has one.
func (c Card) place(rule int) string {
	if line := c.Rules[rule].Line; line > 0 {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("rule %d", rule+1)
}

// Check reports what is wrong with the rules by themselves and with each other. The
// cells are for Compile.
func Check(card Card, tax *Taxonomy, markets *Markets) Problems {
	_, problems := enter(source{card: card}, tax, markets, true)
	problems.sort()
	return problems
}
