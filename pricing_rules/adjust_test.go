package pricingrules

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/base/money"
)

func TestAdjustedRoundsHalfEven(t *testing.T) {
	for _, c := range []struct {
		minor      uint64
		adjustment int
		want       uint64
	}{
		{4560, 0, 4560},
		{4560, 500, 4788},   // +5 %
		{4560, -2500, 3420}, // -25 %
		{10, 500, 10},       // 10.5 is rounded down to even
		{30, 500, 32},       // 31.5 is rounded up to even
		{10, 501, 11},       // 10.501
		{30, 499, 31},       // 31.497
		{4560, -9000, 456},
		{MaxAmount, MaxAdjustment, 10 * MaxAmount},
	} {
		if got := adjusted(c.minor, 0, c.adjustment); got != c.want {
			t.Errorf("adjusted(%d, %d) = %d, want %d", c.minor, c.adjustment, got, c.want)
		}
	}
}

// The result must be the minor unit nearest to the exact price. If two are equally near, it must be
// the even one.
func TestAdjustedRoundsToNearestMinorUnit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Uint64Range(0, MaxAmount).Draw(t, "whole")
		rest := rapid.Uint64Range(0, productOne-1).Draw(t, "rest")
		if rapid.Bool().Draw(t, "even parts") {
			rest = rest / (productOne / 20) * (productOne / 20) // ties are rare otherwise
		}
		adjustment := rapid.IntRange(MinAdjustment, MaxAdjustment).Draw(t, "adjustment")
		got := adjusted(whole, rest, adjustment)

		exact := new(big.Rat).Add(new(big.Rat).SetInt64(int64(whole)), big.NewRat(int64(rest), productOne))
		exact.Mul(exact, big.NewRat(int64(MultiplierOne+adjustment), MultiplierOne))
		off := new(big.Rat).Sub(new(big.Rat).SetInt64(int64(got)), exact)
		switch off.Abs(off).Cmp(big.NewRat(1, 2)) {
		case 1:
			t.Fatalf("%s was rounded to %d, which is not the nearest minor unit", exact, got)
		case 0:
			if got%2 != 0 {
				t.Fatalf("%s was rounded to %d, want the even minor unit", exact, got)
			}
		}
	})
}

func TestAdjustedPreservesOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		less := rapid.Uint64Range(1, MaxAmount).Draw(t, "less")
		more := rapid.Uint64Range(less, MaxAmount).Draw(t, "more")
		adjustment := rapid.IntRange(MinAdjustment, MaxAdjustment).Draw(t, "adjustment")
		if adjusted(less, 0, adjustment) > adjusted(more, 0, adjustment) {
			t.Fatalf("got a higher adjusted price for %d than for %d", less, more)
		}
	})
}

// If the price were rounded before the adjustment, the result would be 0.01 lower.
func TestPriceForRoundsOnce(t *testing.T) {
	tax, markets, _, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	var base Amounts
	for _, c := range money.Currencies {
		base[c] = 50
	}
	table, err := Compile(Card{Rules: []Rule{{Base: base}, {Urgency: "urgent", Multiplier: 12_900}}}, tax, markets)
	if err != nil {
		t.Fatal(err)
	}
	// 0.50 × 1.29 is 0.645, which is rounded to 0.64. Twice 0.645 is 1.29, but twice 0.64 is 1.28.
	if got := table.Price(0, 0, Urgent).Minor; got != 64 {
		t.Errorf("got price %d, want 64", got)
	}
	if got := table.PriceFor(0, 0, Urgent, 10_000).Minor; got != 129 {
		t.Errorf("got doubled price %d, want 129", got)
	}
	if got, want := table.PriceFor(0, 0, Urgent, 0), table.Price(0, 0, Urgent); got != want {
		t.Errorf("got %v without an adjustment, want %v", got, want)
	}
	const want = `%s/GB/urgent: 1.29 GBP
  base                  0.5     = 0.5    rule 1: every lead
  urgency multiplier    × 1.29  = 0.645  rule 2: urgency: urgent
  partner's adjustment  +100%%   = 1.29
`
	got := table.ExplainFor(0, 0, Urgent, 10_000)
	if text, want := got.String(), fmt.Sprintf(want, tax.At(0).Slug); text != want {
		t.Errorf("got explanation\n%s, want\n%s", text, want)
	}
}

// A discount never reduces a price below one minor unit.
func TestPriceForIsAtLeastOneMinorUnit(t *testing.T) {
	tax, markets, _, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	table, err := Compile(Card{Rules: []Rule{
		{Base: Amounts{0, 1, 1, 1, 1, 1}},
		{Industry: tax.At(1).Slug, Exclude: ExcludeTrue},
	}}, tax, markets)
	if err != nil {
		t.Fatal(err)
	}
	if got := table.PriceFor(0, 0, Standard, MinAdjustment).Minor; got != 1 {
		t.Errorf("got %d for 0.01 with -90 %%, want 1", got)
	}
	if got := table.PriceFor(1, 0, Standard, MaxAdjustment); !got.Excluded || got.Minor != 0 {
		t.Errorf("got %v for an excluded cell, want excluded", got)
	}
}

func TestParseAdjustment(t *testing.T) {
	for text, want := range map[string]int{
		"":          0,
		" ":         0,
		"0":         0,
		"+5":        500,
		"5":         500,
		"-2.5":      -250,
		"−2.5":      -250,
		" +5.25 % ": 525,
		"5%":        500,
		"-90":       -9000,
		"900":       90000,
		"-0.01":     -1,
		"+0.1":      10,
	} {
		if got, err := ParseAdjustment(text); err != nil || got != want {
			t.Errorf("ParseAdjustment(%q) = %d (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"5,5", "5.125", "five", "+-5", "--5", "%", "5%%", "1e3", "٥", "NaN", "-90.01",
		"900.01", "99999999999999999999"} {
		if got, err := ParseAdjustment(text); err == nil || got != 0 || !strings.Contains(err.Error(), quoted(text)) {
			t.Errorf("ParseAdjustment(%q) = %d (%v), want an error that quotes it", text, got, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		adjustment := rapid.IntRange(MinAdjustment, MaxAdjustment).Draw(t, "adjustment")
		if got, err := ParseAdjustment(FormatAdjustment(adjustment)); err != nil || got != adjustment {
			t.Fatalf("%s was parsed as %d (%v)", FormatAdjustment(adjustment), got, err)
		}
	})
}
