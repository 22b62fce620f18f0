package pricingrules

import "math/bits"

// The constant one represents a factor of 1 in the product of three multipliers.
const one = MultiplierOne * MultiplierOne * MultiplierOne

// exact multiplies a base price by three multipliers. The product in minor units is whole + rest/one,
// where one is the constant.
//
// The calculation cannot overflow. Because of MaxMultiplier, the product of the multipliers is at most
// 10^18. Because of MaxAmount, the complete product is at most 10^26, so its upper 64 bits are below
// 10^7. bits.Div64 requires them to be below the constant one.
func exact(base, industry, country, urgency int64) (whole, rest uint64) {
	hi, lo := bits.Mul64(uint64(base), uint64(industry)*uint64(country)*uint64(urgency))
	return bits.Div64(hi, lo, one)
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
	if rest > one/2 || rest == one/2 && whole%2 == 1 {
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
