package ratecard

import (
	"fmt"
	"strings"

	"github.com/pingpost/pingpost/internal/apperr"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// Lead is what of a ping its price depends on, as a partner would send it: any country
// of two letters, any urgency.
type Lead struct{ Industry, Country, Urgency string }

// Explanation is how a lead comes to its price, for a partner with prices of its own.
type Explanation struct {
	pricingrules.Explanation
	PartnerExclusion bool // the partner does not sell this
}

// Explain shows each step, with the rule that made it.
func Explain(compiled *ExaminedCard, lead Lead, own pricingrules.PartnerPricing) (e Explanation, err error) {
	tax, markets := compiled.Table.Taxonomy(), compiled.Table.Markets()
	industry, known := tax.BySlug(strings.TrimSpace(lead.Industry))
	if !known {
		return e, field("industry", apperr.InvalidValue, "industry",
			"There is no industry of this name: the taxonomy has their slugs, such as plumber.")
	}
	country := strings.TrimSpace(lead.Country)
	market, known := markets.ByCode(country)
	if !known {
		country = strings.ToUpper(country)
		if len(country) != 2 || strings.Trim(country, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return e, field("country", apperr.InvalidValue, "country", "A country is two letters, such as GB.")
		}
		market = markets.Index([2]byte([]byte(country)))
	}
	e.Explanation = compiled.Table.ExplainFor(industry, market, pricingrules.ClassOf(lead.Urgency), own.Adjustment)
	e.PartnerExclusion = own.Excludes(tax.At(industry), country)
	return e, nil
}

// String is a small table for people.
func (e Explanation) String() string {
	text := e.Explanation.String()
	if e.PartnerExclusion {
		text += fmt.Sprintln("  the partner's own exclusion: no price is given")
	}
	return text
}
