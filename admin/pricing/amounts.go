package pricing

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/templates/ui"
)

// figure removes the currency from a formatted amount. It returns other text unchanged.
func figure(text string) string {
	number, _, _ := strings.Cut(text, " ")
	if number == "" || number[0] < '0' || number[0] > '9' {
		return text
	}
	return number
}

func baseFigure(row ratecard.GridRow) string {
	if row.Base.Rule < 0 {
		return ""
	}
	return minorFigure(row.Base.Minor)
}

func minorFigure(minor int64) string {
	return figure(money.Amount{Minor: minor, Currency: money.GBP}.String())
}

var (
	currencySigns = map[string]string{"£": "GBP", "€": "EUR", "$": "USD"}
	decimalComma  = regexp.MustCompile(`^[0-9]+,[0-9]{1,2}$`)
)

// parseBase parses an amount typed into a grid cell. An empty string means 0. If the amount is valid,
// the result wrong has no message.
func parseBase(text string, market pricingrules.Market) (minor int64, wrong ui.FieldError) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, wrong
	}
	return parseAmount(text, market.Code, market.Currency)
}

// parseAmount parses an amount with or without its currency's code or sign. The parameter subject is the
// name of the country or field, for error messages.
func parseAmount(text, subject string, currency money.Currency) (minor int64, wrong ui.FieldError) {
	text, other := withoutCurrency(text, currency)
	if other != "" {
		return 0, ui.FieldError{
			Code: "currency",
			Message: fmt.Sprintf("Amounts for %s are in %s, not in %s. Enter the amount in %s.", subject, currency, other,
				currency),
		}
	}
	if decimalComma.MatchString(text) {
		return 0, ui.FieldError{
			Code:    "decimal_comma",
			Message: fmt.Sprintf("%s has a decimal comma. Enter %s instead.", text, strings.Replace(text, ",", ".", 1)),
		}
	}
	minor, err := pricingrules.ParseAmount(text)
	if err == nil {
		return minor, wrong
	}
	if _, notDecimal := money.ParseTyped(text); notDecimal != nil {
		return 0, ui.FieldError{Code: "format", Message: "Enter an amount with at most two decimals, such as 45.6."}
	}
	return 0, ui.FieldError{Code: "range", Message: "The amount " + err.Error() + "."}
}

// withoutCurrency removes a currency's code or sign from an amount. The parameter own is the expected
// currency. If the code or sign belongs to another currency, the result other is the code of that
// currency.
func withoutCurrency(text string, own money.Currency) (figures, other string) {
	for sign, code := range currencySigns {
		if rest := strings.TrimSpace(strings.Trim(text, sign)); rest != text && strings.Contains(text, sign) {
			dollars := sign == "$" && (own == money.CAD || own == money.AUD)
			if code != own.String() && !dollars {
				return rest, code
			}
			text = rest
		}
	}
	for _, c := range money.Currencies {
		upper := strings.ToUpper(text)
		if !strings.HasPrefix(upper, c.String()) && !strings.HasSuffix(upper, c.String()) {
			continue
		}
		rest := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(upper, c.String()), c.String()))
		if c != own {
			return rest, c.String()
		}
		text = rest
	}
	return text, ""
}

// parsePercent parses a signed percentage, such as +5 or -2.5%. The result is in ten-thousandths: 500
// for +5.
func parsePercent(text string) (percent int64, wrong ui.FieldError) {
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "%"))
	text = strings.TrimPrefix(strings.Replace(text, "−", "-", 1), "+")
	percent, err := money.ParseDecimal(text)
	switch {
	case err != nil:
		return 0, ui.FieldError{
			Code:    "format",
			Message: "Enter a percentage with at most two decimals, such as +5 or -2.5.",
		}
	case percent == 0:
		return 0, ui.FieldError{Code: "zero", Message: "0% changes nothing. Enter a percentage such as +5 or -2.5."}
	case percent < pricingrules.MinAdjustment || percent > pricingrules.MaxAdjustment:
		return 0, ui.FieldError{
			Code: "range",
			Message: fmt.Sprintf("The percentage must be between %s and %s.",
				pricingrules.FormatAdjustment(pricingrules.MinAdjustment),
				pricingrules.FormatAdjustment(pricingrules.MaxAdjustment)),
		}
	}
	return percent, wrong
}
