package ratecard

import (
	"fmt"
	"strings"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/iso3166"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// Lead contains the fields of a ping that determine its price. Their values come from the partner,
// so Country can be any two letters, and Urgency can be any text.
type Lead struct{ Industry, Country, Urgency string }

// Explanation shows how a lead's price is calculated, including partner pricing.
type Explanation struct {
	pricingrules.Explanation
	Country          string // the ISO code of the lead's country, or "other"
	PartnerExclusion bool   // the partner's pricing excludes the lead
}

// Explain calculates a lead's price and returns each step of the calculation and the rule that
// caused it.
func Explain(compiled *ExaminedCard, lead Lead, own pricingrules.PartnerPricing) (e Explanation, err error) {
	tax, markets := compiled.Table.Taxonomy(), compiled.Table.Markets()
	industry, known := tax.BySlug(strings.TrimSpace(lead.Industry))
	if !known {
		return e, field("industry", apperr.InvalidValue, "industry", "There is no industry with this slug. "+
			didYouMean(tax.Suggest(lead.Industry), "Use a slug from the taxonomy, such as plumber."))
	}
	country := strings.TrimSpace(lead.Country)
	market, known := markets.ByCode(country)
	if !known {
		country = iso3166.Country(strings.ToUpper(country))
		if len(country) != 2 || strings.Trim(country, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return e, field("country", apperr.InvalidValue, "country", "The country is not a two-letter code. "+
				didYouMean(markets.Suggest(lead.Country), "Enter a code such as GB."))
		}
		market = markets.Index([2]byte([]byte(country)))
	}
	e.Explanation = compiled.Table.ExplainFor(industry, market, pricingrules.ClassOf(lead.Urgency), own.Adjustment)
	e.Country = country
	e.PartnerExclusion = own.Excludes(tax.At(industry), country)
	return e, nil
}

// didYouMean returns a sentence that suggests a name, or other if there is none to suggest.
func didYouMean(name, other string) string {
	if name == "" {
		return other
	}
	return "Did you mean " + name + "?"
}

// String formats the explanation as a text table.
func (e Explanation) String() string {
	text := e.Explanation.String()
	if e.PartnerExclusion {
		text += fmt.Sprintln("  excluded by the partner's pricing: no price")
	}
	return text
}
