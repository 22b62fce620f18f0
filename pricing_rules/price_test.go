package pricingrules

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// The largest product must not overflow.
func TestExactAtTheLimit(t *testing.T) {
	whole, rest := multiply(MaxAmount, MaxMultiplier, MaxMultiplier, MaxMultiplier)
	if whole != MaxAmount*100*100*100 || rest != 0 {
		t.Errorf("got %d + %d/10^12, want %d", whole, rest, MaxAmount*100*100*100)
	}
}

func TestExactIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		product := big.NewInt(1)
		var factors [4]int64
		for i := range factors {
			factors[i] = rapid.Int64Range(1, []int64{MaxAmount, MaxMultiplier}[min(i, 1)]).Draw(t, "factor")
			product.Mul(product, big.NewInt(factors[i]))
		}
		whole, rest := multiply(factors[0], factors[1], factors[2], factors[3])
		got := new(big.Int).SetUint64(whole)
		got.Mul(got, big.NewInt(productOne)).Add(got, new(big.Int).SetUint64(rest))
		if rest >= productOne || got.Cmp(product) != 0 {
			t.Fatalf("got %d + %d/10^12 for the product of %v", whole, rest, factors)
		}
	})
}

func TestRoundHalfToEven(t *testing.T) {
	for _, c := range []struct{ whole, rest, want uint64 }{
		{7, 0, 7}, {7, productOne/2 - 1, 7}, {7, productOne / 2, 8}, {7, productOne/2 + 1, 8}, {7, productOne - 1, 8},
		{8, productOne / 2, 8}, {8, productOne/2 + 1, 9}, {0, productOne / 2, 0}, {0, productOne/2 + 1, 1},
	} {
		if got := round(c.whole, c.rest); got != c.want {
			t.Errorf("%d + %d/10^12 was rounded to %d, want %d", c.whole, c.rest, got, c.want)
		}
	}
}

func TestClamp(t *testing.T) {
	for _, c := range []struct {
		whole, rest     uint64
		floor, ceiling  int64
		wantWhole, want uint64
	}{
		{5, 3, 0, 0, 5, 3}, // no limits
		{5, 3, 5, 6, 5, 3}, // within
		{5, 3, 6, 0, 6, 0}, // just below the floor
		{5, 3, 0, 5, 5, 0}, // just above the ceiling
		{5, 0, 5, 5, 5, 0}, // equal to both
		{4, 9, 0, 5, 4, 9}, // below the ceiling by a fraction
		{9, 0, 10, 10, 10, 0},
	} {
		if whole, rest := clamp(c.whole, c.rest, c.floor, c.ceiling); whole != c.wantWhole || rest != c.want {
			t.Errorf("%+v: got %d, %d", c, whole, rest)
		}
	}
}
