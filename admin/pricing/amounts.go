package pricing

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/templates/ui"
)

// figure is an amount in words without its currency; other words stay as they are.
func figure(words string) string {
	text, _, _ := strings.Cut(words, " ")
	if text == "" || text[0] < '0' || text[0] > '9' {
		return words
	}
	return text
}

// baseFigure is what a row's price starts from; "" where nothing says.
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
	commaGroups   = regexp.MustCompile(`^[0-9]{1,3}(,[0-9]{3})+(\.[0-9]{1,2})?$`)
)

// parseBase reads an amount as a person types it into a market's cell; empty is 0. The
// second value is what is wrong with it, without a message where nothing is.
func parseBase(text string, market pricingrules.Market) (minor int64, wrong ui.FieldError) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, wrong
	}
	return parseAmount(text, market.Code, market.Currency)
}

// parseAmount reads an amount in a currency, whose name may stand beside it. An error
// calls what is priced subject.
func parseAmount(text, subject string, currency money.Currency) (minor int64, wrong ui.FieldError) {
	text, other := withoutCurrency(text, currency)
	if other != "" {
		return 0, ui.FieldError{
			Code:    "currency",
			Message: fmt.Sprintf("%s is priced in %s, not in %s: write the amount in %s.", subject, currency, other, currency),
		}
	}
	switch {
	case decimalComma.MatchString(text):
		return 0, ui.FieldError{
			Code:    "decimal_comma",
			Message: fmt.Sprintf("Write %s, with a point: %s has a comma.", strings.Replace(text, ",", ".", 1), text),
		}
	case commaGroups.MatchString(text):
		return 0, ui.FieldError{
			Code:    "separators",
			Message: fmt.Sprintf("Write %s, without commas.", strings.ReplaceAll(text, ",", "")),
		}
	}
	minor, err := pricingrules.ParseAmount(text)
	if err == nil {
		return minor, wrong
	}
	if _, notDecimal := money.ParseDecimal(text); notDecimal != nil {
		return 0, ui.FieldError{Code: "format", Message: err.Error() + "."}
	}
	return 0, ui.FieldError{Code: "range", Message: "The amount " + err.Error() + "."}
}

// withoutCurrency takes the name or sign of a currency off an amount; other is the name
// of one that is not the cell's.
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

// parsePercent reads a percentage with its sign, like +5 or -2.5 %, into ten-thousandths.
func parsePercent(text string) (percent int64, wrong ui.FieldError) {
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "%"))
	text = strings.TrimPrefix(strings.Replace(text, "−", "-", 1), "+")
	percent, err := money.ParseDecimal(text)
	switch {
	case err != nil:
		return 0, ui.FieldError{
			Code:    "format",
			Message: "Write a percentage with at most two decimals, like +5 or -2.5.",
		}
	case percent == 0:
		return 0, ui.FieldError{Code: "zero", Message: "0 % changes nothing: write how much, like +5 or -2.5."}
	case percent < pricingrules.MinAdjustment || percent > pricingrules.MaxAdjustment:
		return 0, ui.FieldError{
			Code: "range",
			Message: fmt.Sprintf("A percentage is between %s and %s.",
				pricingrules.FormatAdjustment(pricingrules.MinAdjustment),
				pricingrules.FormatAdjustment(pricingrules.MaxAdjustment)),
		}
	}
	return percent, wrong
}
