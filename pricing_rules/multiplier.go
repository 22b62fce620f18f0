package pricingrules

import (
	"fmt"
	"strconv"
	"strings"
)

const multiplierDigits = 4

// ParseMultiplier parses a number that has at most four decimals and returns it in ten-thousandths, such
// as 15000 for "1.5". It does not check whether the multiplier is within its limits.
func ParseMultiplier(text string) (int64, error) {
	bad := fmt.Errorf("%s is not a multiplier; use digits with at most four decimals, such as 1.5", quoted(text))
	whole, frac, dotted := strings.Cut(text, ".")
	if whole == "" || len(frac) > multiplierDigits || (dotted && frac == "") {
		return 0, bad
	}
	digits := whole + frac + strings.Repeat("0", multiplierDigits-len(frac))
	if strings.Trim(digits, "0123456789") != "" {
		return 0, bad
	}
	m, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is too large; use at most %s", quoted(text), FormatMultiplier(MaxMultiplier))
	}
	return m, nil
}

// FormatMultiplier formats a multiplier as a decimal without trailing zeros, such as "1.5" for 15000.
func FormatMultiplier(m int64) string {
	whole, frac := m/MultiplierOne, m%MultiplierOne
	if frac == 0 {
		return strconv.FormatInt(whole, 10)
	}
	return fmt.Sprintf("%d.%s", whole, strings.TrimRight(fmt.Sprintf("%04d", frac), "0"))
}
