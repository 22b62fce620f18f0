// Package money represents amounts as whole numbers of a currency's minor unit (decision 10). It does
// not use floating-point numbers.
package money

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Currency is one of the platform's five currencies.
type Currency uint8

// The numbers of the currencies are part of sealed quotes and must not change.
const (
	GBP Currency = iota + 1
	EUR
	USD
	CAD
	AUD
)

// Currencies lists all currencies in a fixed order.
var Currencies = [...]Currency{GBP, EUR, USD, CAD, AUD}

var codes = [...]string{"", "GBP", "EUR", "USD", "CAD", "AUD"}

// Valid reports whether c is one of the five currencies.
func (c Currency) Valid() bool { return c >= GBP && c <= AUD }

// String returns the ISO 4217 code.
func (c Currency) String() string {
	if !c.Valid() {
		return "XXX"
	}
	return codes[c]
}

// ParseCurrency parses an ISO 4217 code in upper case.
func ParseCurrency(code string) (Currency, error) {
	for _, c := range Currencies {
		if codes[c] == code {
			return c, nil
		}
	}
	return 0, fmt.Errorf("currency %q is not one of GBP, EUR, USD, CAD, AUD", code)
}

// Amount is a number of minor units in a currency: {4560, GBP} is 45.60 pounds.
// All five currencies have two decimals.
type Amount struct {
	Minor    int64
	Currency Currency
}

// AmountOf returns the amount for a number of minor units and a currency code that is known to be valid, such as one
// from the database.
func AmountOf(minor int64, code string) Amount {
	c, _ := ParseCurrency(code)
	return Amount{Minor: minor, Currency: c}
}

// String returns the amount in the form that users see, such as "45.60 GBP".
func (a Amount) String() string { return a.Decimal() + " " + a.Currency.String() }

// Decimal returns the amount without its currency, such as "45.60".
func (a Amount) Decimal() string {
	sign, m := "", a.Minor
	if m < 0 {
		sign = "-"
	}
	return fmt.Sprintf("%s%d.%02d", sign, abs(m)/100, abs(m)%100)
}

// AppendDecimal appends an amount in the form that the API uses: in major units, without trailing zeros
// (decision 10). For 4560 minor units, it appends 45.6, and for 4500, it appends 45.
func AppendDecimal(dst []byte, minor int64) []byte {
	if minor < 0 {
		dst = append(dst, '-')
	}
	u := abs(minor)
	dst = strconv.AppendUint(dst, u/100, 10)
	switch rest := u % 100; {
	case rest == 0:
		return dst
	case rest%10 == 0:
		return append(dst, '.', byte('0'+rest/10))
	default:
		return append(dst, '.', byte('0'+rest/10), byte('0'+rest%10))
	}
}

// ParseDecimal parses an amount in major units and returns it in minor units. The amount can have a
// minus sign and at most two decimals, but no exponent, thousands separators or spaces. The error
// describes the problem and how to correct it.
func ParseDecimal(s string) (int64, error) {
	body, negative := strings.CutPrefix(s, "-")
	whole, frac, dotted := strings.Cut(body, ".")
	switch {
	case s == "":
		return 0, errors.New("the amount is missing; enter a number such as 45.6")
	case strings.Contains(s, ","):
		return 0, fmt.Errorf("%q has a comma; use a decimal point and no thousands separators, as in 1045.6", s)
	case whole == "" || dotted && frac == "" || strings.Trim(whole+frac, "0123456789") != "":
		return 0, fmt.Errorf("%q is not an amount; use digits with at most two decimals, such as 45.6", s)
	case len(frac) > 2:
		return 0, fmt.Errorf("%q has more than two decimals; use at most two, such as 45.6", s)
	}
	minor, err := strconv.ParseInt(whole+frac+"00"[len(frac):], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is too large; enter a smaller amount", s)
	}
	if negative {
		minor = -minor
	}
	return minor, nil
}

var grouped = regexp.MustCompile(`^-?[0-9]{1,3}(,[0-9]{3})+(\.|$)`)

// ParseTyped parses an amount that a user typed. It is like ParseDecimal, but accepts thousands
// separators, as in 1,234.56.
func ParseTyped(s string) (int64, error) {
	if grouped.MatchString(s) {
		s = strings.ReplaceAll(s, ",", "")
	}
	return ParseDecimal(s)
}

// abs returns the absolute value of m. It is unsigned because the absolute value of math.MinInt64 does
// not fit in an int64.
func abs(m int64) uint64 {
	if m < 0 {
		return -uint64(m) //nolint:gosec // correct for the smallest int64, too
	}
	return uint64(m)
}
