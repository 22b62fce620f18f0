package pricingrules

import "math/bits"

// one is the scale of the product of a base price and three multipliers.
const one = MultiplierOne * MultiplierOne * MultiplierOne

// exact returns the product of a base price and three multipliers: whole + rest/one, in minor units.
//
// It cannot overflow. Because of MaxMultiplier, the product of the multipliers is at most 10^18. Because of
// MaxAmount, the complete product is at most 10^26, and its high word is below 10^7. Div64 requires the high
// word to be below one.
func exact(base, industry, country, urgency int64) (whole, rest uint64) {
	hi, lo := bits.Mul64(uint64(base), uint64(industry)*uint64(country)*uint64(urgency))
	return bits.Div64(hi, lo, one)
}

// clamp limits a value to floor and ceiling, in minor units. 0 means no limit. The floor must not be above
// the ceiling.
func clamp(whole, rest uint64, floor, ceiling int64) (uint64, uint64) {
	if floor != 0 && whole < uint64(floor) {
		return uint64(floor), 0
	}
	if ceiling != 0 && whole >= uint64(ceiling) {
		return uint64(ceiling), 0
	}
	return whole, rest
}

// round rounds to the nearest minor unit, half to even.
func round(whole, rest uint64) uint64 {
	if rest > one/2 || rest == one/2 && whole%2 == 1 {
		return whole + 1
	}
	return whole
}

// adjusted applies a partner's adjustment and rounds to the nearest minor unit, half to even.
//
// It cannot overflow. The price is at most MaxAmount and the factor is at most 10 × MultiplierOne, so
// whole × factor is at most 10^13, rest × factor is below 10^17, and the high word is below 10^7. Div64
// requires the high word to be below scale.
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
