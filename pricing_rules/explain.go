package pricingrules

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Explanation shows step by step how a cell's price is calculated.
type Explanation struct {
	Industry Industry
	Market   Market
	Class    Class
	Steps    []Step
	Cell     Cell
}

// Step is one step in the calculation of a price. If the step applies a rule, Place, Selector and Note
// describe that rule.
type Step struct {
	Name     string
	Effect   string // such as "× 1.5"
	Value    string // the exact price after the step, in major units; "" for an exclusion
	Rule     int    // the rule's index in Card.Rules; -1 if there is no rule
	Place    string // "line 41" or "rule 7"
	Selector string
	Note     string
}

// Explain shows step by step how Price calculates a cell's price.
func (t *Table) Explain(industry, market int, class Class) Explanation {
	return t.ExplainFor(industry, market, class, 0)
}

// ExplainFor shows step by step how PriceFor calculates a cell's price.
func (t *Table) ExplainFor(industry, market int, class Class, adjustment int) Explanation {
	e := Explanation{
		Industry: t.index.tax.At(industry), Market: t.index.markets.At(market), Class: class,
		Cell: t.PriceFor(industry, market, class, adjustment),
	}
	w := t.index.resolve(industry, market, class)
	if w.exclude != 0 {
		e.Steps = append(e.Steps, t.step("exclude", w.exclude, strconv.FormatBool(e.Cell.Excluded), ""))
	}
	if e.Cell.Excluded || w.base == 0 {
		return e
	}
	e.Steps = append(e.Steps, t.priceSteps(w, e.Cell, adjustment)...)
	return e
}

func (t *Table) priceSteps(w winners, cell Cell, adjustment int) []Step {
	currency := cell.Currency
	base := t.rule(w.base).Base[currency]
	value := exactDecimal{digits: big.NewInt(base), places: 2}
	steps := []Step{t.step("base", w.base, decimal(base), value.String())}
	for _, kind := range []struct {
		name   string
		winner int32
	}{
		{"industry multiplier", w.industry}, {"country multiplier", w.country}, {"urgency multiplier", w.urgency},
	} {
		if kind.winner != 0 {
			m := t.rule(kind.winner).Multiplier
			value = value.times(m)
			steps = append(steps, t.step(kind.name, kind.winner, "× "+FormatMultiplier(m), value.String()))
		}
	}
	if floor := t.rule(w.floor).Floor[currency]; floor != 0 {
		if bound := (exactDecimal{big.NewInt(floor), 2}); value.compare(bound) < 0 {
			value = bound
		}
		steps = append(steps, t.step("floor", w.floor, "≥ "+decimal(floor), value.String()))
	}
	if ceiling := t.rule(w.ceiling).Ceiling[currency]; ceiling != 0 {
		if bound := (exactDecimal{big.NewInt(ceiling), 2}); value.compare(bound) > 0 {
			value = bound
		}
		steps = append(steps, t.step("ceiling", w.ceiling, "≤ "+decimal(ceiling), value.String()))
	}
	if adjustment != 0 {
		value = value.times(int64(MultiplierOne + adjustment))
		steps = append(steps, Step{
			Name:   "partner's adjustment",
			Effect: FormatAdjustment(adjustment),
			Value:  value.String(),
			Rule:   -1,
		})
	}
	if rounded := decimal(cell.Minor); rounded != value.String() && !cell.Gap() {
		effect := "half to even"
		if value.compare(exactDecimal{big.NewInt(5), 3}) <= 0 {
			effect = "at least the smallest amount"
		}
		steps = append(steps, Step{Name: "rounding", Effect: effect, Value: rounded, Rule: -1})
	}
	return steps
}

func (t *Table) step(name string, winner int32, effect, value string) Step {
	rule := t.rule(winner)
	return Step{
		Name: name, Effect: effect, Value: value, Rule: int(winner) - 1,
		Place: t.card.place(int(winner) - 1), Selector: rule.Selector(), Note: rule.Note,
	}
}

// String formats the explanation as text. The first line states the cell and its price, and a table of
// the steps follows.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", e.Name(), e.outcome())
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range e.Steps {
		fmt.Fprintf(w, "  %s\t%s", s.Name, s.Effect)
		switch {
		case s.Value != "":
			fmt.Fprintf(w, "\t= %s", s.Value)
		case !e.Cell.Excluded: // keep the columns of all steps aligned
			fmt.Fprint(w, "\t")
		}
		if s.Rule >= 0 {
			fmt.Fprintf(w, "\t%s: %s", s.Place, s.Selector)
		}
		if s.Note != "" {
			fmt.Fprintf(w, " (%s)", s.Note)
		}
		fmt.Fprintln(w)
	}
	w.Flush() //nolint:errcheck // a strings.Builder never fails
	return b.String()
}

// Name returns the name of the cell, such as "plumber/GB/emergency" (decision 11).
func (e Explanation) Name() string {
	return cellName(e.Industry, e.Market, e.Class)
}

func (e Explanation) outcome() string {
	if e.Cell.Minor == 0 {
		return e.Cell.String()
	}
	return decimal(e.Cell.Minor) + " " + e.Cell.Currency.String()
}

func cellName(i Industry, m Market, c Class) string {
	return i.Slug + "/" + m.Code + "/" + c.String()
}

// exactDecimal represents the number digits / 10^places. It is used only in explanations. Prices are
// calculated by the function exact.
type exactDecimal struct {
	digits *big.Int
	places int
}

func (d exactDecimal) times(multiplier int64) exactDecimal {
	return exactDecimal{new(big.Int).Mul(d.digits, big.NewInt(multiplier)), d.places + multiplierDigits}
}

func (d exactDecimal) compare(with exactDecimal) int {
	places := max(d.places, with.places)
	return d.scaled(places).Cmp(with.scaled(places))
}

func (d exactDecimal) scaled(places int) *big.Int {
	factor := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places-d.places)), nil)
	return factor.Mul(factor, d.digits)
}

// String returns the exact value without trailing zeros.
func (d exactDecimal) String() string {
	text := d.digits.String()
	if missing := d.places + 1 - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	whole, frac := text[:len(text)-d.places], strings.TrimRight(text[len(text)-d.places:], "0")
	if frac == "" {
		return whole
	}
	return whole + "." + frac
}
