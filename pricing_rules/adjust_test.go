package intake

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

func TestAdjustRoundsHalfEven(t *testing.T) {
	for _, c := range []struct {
		minor      int64
		adjustment int
		want       int64
	}{
		{4560, 0, 4560},
		{4560, 500, 4788},   // + 5 %
		{4560, -2500, 3420}, // − 25 %
		{10, 500, 10},       // 10.5 to the even below
		{30, 500, 32},       // 31.5 to the even above
		{10, 501, 11},       // 10.501
		{30, 499, 31},       // 31.497
		{4560, -9000, 456},
		{1, -9000, 1}, // 0.1
		{5, -9000, 1}, // 0.5 would round to nothing
		{pricingrules.MaxAmount, 90_000, 10 * pricingrules.MaxAmount},
	} {
		if got := adjust(c.minor, c.adjustment); got != c.want {
			t.Errorf("adjust(%d, %d) is %d, want %d", c.minor, c.adjustment, got, c.want)
		}
	}
}

// Whatever the price and the adjustment that the database allows, the result is
// the nearest minor unit, the even one of two as near, and never nothing.
func TestAdjustIsTheNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minor := rapid.Int64Range(1, pricingrules.MaxAmount).Draw(t, "minor")
		adjustment := rapid.IntRange(-9000, 90_000).Draw(t, "adjustment")
		got := adjust(minor, adjustment)

		exact := big.NewRat(minor*int64(pricingrules.MultiplierOne+adjustment), pricingrules.MultiplierOne)
		off := new(big.Rat).Sub(big.NewRat(got, 1), exact)
		off.Abs(off)
		half := big.NewRat(1, 2)
		switch {
		case exact.Cmp(half) <= 0:
			if got != 1 {
				t.Fatalf("%s became %d", exact, got)
			}
		case off.Cmp(half) > 0:
			t.Fatalf("%s became %d, which is not the nearest", exact, got)
		case off.Cmp(half) == 0 && got%2 != 0:
			t.Fatalf("%s became %d, the odd one of two as near", exact, got)
		}
	})
}

func TestAdjustKeepsTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		less := rapid.Int64Range(1, pricingrules.MaxAmount).Draw(t, "less")
		more := rapid.Int64Range(less, pricingrules.MaxAmount).Draw(t, "more")
		adjustment := rapid.IntRange(-9000, 90_000).Draw(t, "adjustment")
		if adjust(less, adjustment) > adjust(more, adjustment) {
			t.Fatalf("%d became dearer than %d", less, more)
		}
	})
}
