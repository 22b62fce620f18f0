package pricingrules

import "math/bits"

// one is × 1 three times over: the scale of a base times three multipliers.
const one = MultiplierOne * MultiplierOne * MultiplierOne

// exact is base × the three multipliers in minor units: whole + rest/one. It
// cannot overflow: within MaxAmount and MaxMultiplier the multipliers come to at
// most 10^18 and all four to 10^26, so that the high word stays below 10^7, where
// Div64 wants it below one.
func exact(base, industry, country, urgency int64) (whole, rest uint64) {
	hi, lo := bits.Mul64(uint64(base), uint64(industry)*uint64(country)*uint64(urgency))
	return bits.Div64(hi, lo, one)
}

// clamp brings a value within floor and ceiling, minor units; 0 is no bound. A
// floor above a ceiling never reaches it: Compile refuses the cell.
func clamp(whole, rest uint64, floor, ceiling int64) (uint64, uint64) {
	if floor != 0 && whole < uint64(floor) {
		return uint64(floor), 0
	}
	if ceiling != 0 && whole >= uint64(ceiling) {
		return uint64(ceiling), 0
	}
	return whole, rest
}

// round goes to the nearest minor unit, from the middle to the even one.
func round(whole, rest uint64) uint64 {
	if rest > one/2 || rest == one/2 && whole%2 == 1 {
		return whole + 1
	}
	return whole
}

// adjusted is a price with a partner's own ten-thousandths added, rounded to the
// minor unit. The clamped price is at most MaxAmount and the adjustment keeps the
// factor within ten: whole × factor stays below 10^14, rest × factor below 10^18, and
// the high word below 10^7, where Div64 wants it below scale.
func adjusted(whole, rest uint64, adjustment int) uint64 {
	const scale = one * MultiplierOne
	factor := uint64(MultiplierOne + adjustment)
	hi, lo := bits.Mul64(whole*factor, one)
	lo, carry := bits.Add64(lo, rest*factor, 0)
	price, left := bits.Div64(hi+carry, lo, scale)
	if left > scale/2 || left == scale/2 && price%2 == 1 {
		price++
	}
	return price
}
