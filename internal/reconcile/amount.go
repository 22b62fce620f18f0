package reconcile

import (
	"strings"

	"github.com/pingpost/pingpost/internal/base/money"
)

// amount is an amount of money in a file, in minor units. The field signed contains the currencies that
// the amount's currency sign or code can mean. For example, the sign $ can mean USD, CAD or AUD.
type amount struct {
	minor  int64
	signed currencies // 0 if there is no sign or code
}

// currencies is a set of currencies, with one bit for each currency.
type currencies uint8

func setOf(all ...money.Currency) (s currencies) {
	for _, c := range all {
		s |= 1 << c
	}
	return s
}

func (s currencies) allows(c money.Currency) bool { return s == 0 || s&(1<<c) != 0 }

// signs lists the currency signs and codes that can precede or follow an amount. US$ comes before $,
// because the first match is used.
var signs = []struct {
	text string
	of   currencies
}{
	{"GBP", setOf(money.GBP)},
	{"EUR", setOf(money.EUR)},
	{"USD", setOf(money.USD)},
	{"CAD", setOf(money.CAD)},
	{"AUD", setOf(money.AUD)},
	{"US$", setOf(money.USD)},
	{"CA$", setOf(money.CAD)},
	{"AU$", setOf(money.AUD)},
	{"C$", setOf(money.CAD)},
	{"A$", setOf(money.AUD)},
	{"£", setOf(money.GBP)},
	{"€", setOf(money.EUR)},
	{"$", setOf(money.USD, money.CAD, money.AUD)},
}

func (f NumberForm) marks() (decimal, group byte) {
	if f == CommaDecimal {
		return ',', '.'
	}
	return '.', ','
}

// maxWhole is the maximum number of digits before the decimal mark. With more digits, the sum of all
// amounts in a file might not fit into 64 bits.
const maxWhole = 10

// parseAmount parses an amount in the given number format. The result problem is "" or a problem code,
// such as problemDecimals if there are more than two decimal places.
func parseAmount(text string, form NumberForm) (a amount, problem string) {
	body, negative, signed, ok := strip(text)
	if !ok {
		return a, shapeProblem(text)
	}
	a.signed = signed
	decimal, group := form.marks()
	whole, fraction, dotted := strings.Cut(body, string(decimal))
	if dotted && (fraction == "" || !digits(fraction)) {
		return a, shapeProblem(text)
	}
	units, ok := wholeUnits(whole, group)
	if !ok || whole == "" && !dotted {
		return a, shapeProblem(text)
	}
	if len(units) > maxWhole {
		return a, problemLarge
	}
	if len(fraction) > 2 {
		return a, problemDecimals
	}
	for _, d := range []byte(units) {
		a.minor = a.minor*10 + int64(d-'0')
	}
	for i := range 2 {
		a.minor *= 10
		if i < len(fraction) {
			a.minor += int64(fraction[i] - '0')
		}
	}
	if negative {
		a.minor = -a.minor
	}
	return a, ""
}

// strip removes a plus or minus sign, enclosing brackets and a currency sign or code from a number. Both
// brackets and a minus sign mean that the number is negative.
func strip(text string) (body string, negative bool, signed currencies, ok bool) {
	body = strings.TrimSpace(text)
	minus := false
	for {
		before := body
		if inner, found := strings.CutPrefix(body, "("); found && strings.HasSuffix(inner, ")") && !negative && !minus {
			body, negative = inner[:len(inner)-1], true
		}
		if rest, sign, found := cutSign(body); found && !minus && !negative {
			body, minus, negative = rest, true, sign
		}
		if rest, of, found := cutCurrency(body); found && signed == 0 {
			body, signed = rest, of
		}
		if body = strings.TrimSpace(body); body == before {
			return body, negative, signed, body != ""
		}
	}
}

func cutSign(s string) (rest string, negative, found bool) {
	for _, minus := range []string{"-", "\u2212"} {
		if rest, found = strings.CutPrefix(s, minus); found {
			return rest, true, true
		}
		if rest, found = strings.CutSuffix(s, minus); found {
			return rest, true, true
		}
	}
	rest, found = strings.CutPrefix(s, "+")
	return rest, false, found
}

func cutCurrency(s string) (rest string, of currencies, found bool) {
	if s == "" || isDigit(s[0]) && isDigit(s[len(s)-1]) {
		return s, 0, false
	}
	for _, sign := range signs {
		n := len(sign.text)
		if len(s) < n {
			continue
		}
		if strings.EqualFold(s[:n], sign.text) {
			return s[n:], sign.of, true
		}
		if strings.EqualFold(s[len(s)-n:], sign.text) {
			return s[:len(s)-n], sign.of, true
		}
	}
	return s, 0, false
}

// blanks lists the spaces and apostrophes that can separate groups of digits, as in 1 234.56.
var blanks = []string{" ", "\u00a0", "\u202f", "\u2009", "'", "\u2019"}

// wholeUnits removes the group separators from the digits before the decimal mark, as in 1,234. The
// result ok is false if the digits are not grouped correctly.
func wholeUnits(whole string, group byte) (units string, ok bool) {
	if digits(whole) {
		return strings.TrimLeft(whole, "0"), true
	}
	mark := string(group)
	for _, blank := range blanks {
		if strings.Contains(whole, blank) {
			mark = blank
			break
		}
	}
	groups := strings.Split(whole, mark)
	for i, g := range groups {
		if i > 0 && len(g) != 3 || g == "" || len(g) > 3 || !digits(g) {
			return "", false
		}
	}
	if groups[0][0] == '0' { // the comma in 0,123 is a decimal mark
		return "", false
	}
	return strings.Join(groups, ""), true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func digits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return true
}
