package pricingrules

import (
	"fmt"
	"strings"

	"github.com/pingpost/pingpost/internal/base/money"
)

// MinAdjustment and MaxAdjustment are the smallest and largest adjustments that a partner can have, in
// ten-thousandths. For example, 500 is +5%.
const (
	MinAdjustment = -9_000
	MaxAdjustment = 90_000
)

// PriceFor is like Price, but applies a partner's adjustment before it rounds the price. An
// adjusted price is at least one minor unit.
func (t *Table) PriceFor(industry, market int, class Class, adjustment int) Cell {
	cell := t.Price(industry, market, class)
	if adjustment == 0 || cell.Minor == 0 {
		return cell
	}
	w := t.index.resolve(industry, market, class)
	whole, rest := t.exactPrice(w, cell.Currency)
	cell.Minor = int64(max(adjusted(whole, rest, adjustment), 1))
	return cell
}

// Adjust applies an adjustment to an amount and rounds the result to the nearest minor unit, half to
// even.
func Adjust(minor int64, adjustment int) int64 {
	return int64(adjusted(uint64(minor), 0, adjustment))
}

// FormatAdjustment formats an adjustment as a signed percentage, such as "+5.25%" for 525.
func FormatAdjustment(adjustment int) string {
	return signed(adjustment) + "%"
}

// The function signed formats an adjustment without the percent sign, such as "+5.25" for 525.
func signed(adjustment int) string {
	sign := "+"
	if adjustment < 0 {
		sign, adjustment = "-", -adjustment
	}
	return sign + decimal(int64(adjustment))
}

// ParseAdjustment parses a percentage, such as "+5", "-2.5" or "5 %", and returns it in ten-thousandths.
// If text is empty, it returns 0.
func ParseAdjustment(text string) (int, error) {
	number := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "%"))
	if number == "" && strings.TrimSpace(text) == "" {
		return 0, nil
	}
	number = strings.Replace(number, "−", "-", 1)
	if rest, plus := strings.CutPrefix(number, "+"); plus && !strings.HasPrefix(rest, "-") {
		number = rest
	}
	hundredths, err := money.ParseDecimal(number)
	if err != nil {
		return 0, fmt.Errorf("%s is not a percentage; use digits with at most two decimals, such as +5 or -2.5", quoted(text))
	}
	if hundredths < MinAdjustment || hundredths > MaxAdjustment {
		return 0, fmt.Errorf("%s is not between %s%% and %s%%", quoted(text), signed(MinAdjustment), signed(MaxAdjustment))
	}
	return int(hundredths), nil
}
