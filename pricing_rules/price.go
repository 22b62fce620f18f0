package pricingrules

import (
	"math/bits"

	"github.com/pingpost/pingpost/internal/base/money"
)

// calculatePrices calculates the price of every cell.
func (t *Table) calculatePrices() Problems {
	var bad flaws
	for industry := range t.index.tax.Len() {
		for market := range t.index.markets.Len() {
			row := &t.prices[industry*t.index.markets.Len()+market]
			for class := range Class(Classes) {
				minor, f := t.calculatePrice(t.index.resolve(industry, market, class), market)
				if f.kind != sound {
					bad.add(f, cellIndex{industry, market, class})
				}
				row[class] = minor
			}
		}
	}
	return bad.problems(t)
}

// calculatePrice calculates the price of a cell from its winning rules, as described in the package comment.
func (t *Table) calculatePrice(w winners, market int) (minor int64, f flaw) {
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
	price := round(t.exactPrice(w, currency))
	switch {
	case price == 0:
		return 0, flaw{kind: nothing, currency: currency, rule: w.base}
	case price > MaxAmount:
		return 0, flaw{kind: tooMuch, currency: currency, rule: w.base}
	}
	return int64(price), flaw{}
}

// exactPrice returns the price of a cell before rounding. The cell must have a base price.
func (t *Table) exactPrice(w winners, currency money.Currency) (whole, rest uint64) {
	whole, rest = multiply(t.rule(w.base).Base[currency],
		t.multiplier(w.industry), t.multiplier(w.country), t.multiplier(w.urgency))
	return clamp(whole, rest, t.rule(w.floor).Floor[currency], t.rule(w.ceiling).Ceiling[currency])
}

// rule returns the rule that a field of winners identifies, or an empty rule for 0.
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

// productOne is a factor of 1 in the product of three multipliers.
const productOne = MultiplierOne * MultiplierOne * MultiplierOne

// multiply multiplies a base price by three multipliers. The product in minor units is whole + rest/productOne.
//
// The calculation cannot overflow. Because of MaxMultiplier, the product of the multipliers is at most
// 10^18. Because of MaxAmount, the complete product is at most 10^26, so its upper 64 bits are below
// 10^7. bits.Div64 requires them to be below productOne.
func multiply(base, industry, country, urgency int64) (whole, rest uint64) {
	hi, lo := bits.Mul64(uint64(base), uint64(industry)*uint64(country)*uint64(urgency))
	return bits.Div64(hi, lo, productOne)
}

// clamp limits a price to the range from floor to ceiling, in minor units. A limit of 0 means no
// limit. The floor must not be above the ceiling.
func clamp(whole, rest uint64, floor, ceiling int64) (uint64, uint64) {
	if floor != 0 && whole < uint64(floor) {
		return uint64(floor), 0
	}
	if ceiling != 0 && whole >= uint64(ceiling) {
		return uint64(ceiling), 0
	}
	return whole, rest
}

// round rounds a price to the nearest minor unit, half to even.
func round(whole, rest uint64) uint64 {
	if rest > productOne/2 || rest == productOne/2 && whole%2 == 1 {
		return whole + 1
	}
	return whole
}

// adjusted applies a partner's adjustment to a price and rounds the result to the nearest minor unit,
// half to even.
//
// The calculation cannot overflow. The price is at most MaxAmount and the factor is at most 10 ×
// MultiplierOne. So whole × factor is at most 10^13, rest × factor is below 10^17, and the upper 64 bits
// of the sum are below 10^7. bits.Div64 requires them to be below scale.
func adjusted(whole, rest uint64, adjustment int) uint64 {
	const scale = productOne * MultiplierOne
	factor := uint64(MultiplierOne + adjustment)
	hi, lo := bits.Mul64(whole*factor, productOne)
	lo, carry := bits.Add64(lo, rest*factor, 0)
	price, left := bits.Div64(hi+carry, lo, scale)
	if left > scale/2 || left == scale/2 && price%2 == 1 {
		price++
	}
	return price
}
