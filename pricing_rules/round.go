package pricingrules

import "math/bits"

// one is × 1 three times: the scale of a base price times three multipliers.
const one = MultiplierOne * MultiplierOne * MultiplierOne

// exact returns base × the three multipliers in minor units: whole + rest/one. It cannot overflow. With
// MaxAmount and MaxMultiplier, the product of the multipliers is at most 10^18 and the product of all
// four 10^26, so the high word is below 10^7. Div64 requires it to be below one.
func exact(base, industry, country, urgency int64) (whole, rest uint64) {
	hi, lo := bits.Mul64(uint64(base), uint64(industry)*uint64(country)*uint64(urgency))
	return bits.Div64(hi, lo, one)
}

// clamp limits a value to floor and ceiling, in minor units. 0 is no limit. The floor is never above the
// ceiling, because Compile rejects such a cell.
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

// adjusted applies a partner's adjustment and rounds to the minor unit, half to even. It cannot overflow.
// The clamped price is at most MaxAmount and the factor at most 10, so whole × factor is below 10^14, rest
// × factor below 10^18, and the high word below 10^7. Div64 requires it to be below scale.
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
