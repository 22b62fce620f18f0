package retention

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/models"
)

// Describe returns sentences that describe the periods in effect to a consumer with leads from the given countries. It
// names the countries only if their periods differ.
func Describe(tx *gorm.DB, countries []string) (string, error) {
	inEffect, _, err := readPeriods(tx)
	if err != nil {
		return "", err
	}
	return inEffect.describe(countries), nil
}

func (p effectivePeriods) describe(countries []string) string {
	var sentences []string
	for _, c := range Categories {
		names := map[int][]string{} // of the countries, by their period in days
		for _, country := range countries {
			days := p.daysFor(c, country)
			names[days] = append(names[days], countryName(country))
		}
		var ofCategory []string
		for days, in := range names {
			sentence := describePeriod(c, days)
			if len(names) > 1 {
				slices.Sort(in)
				sentence += " (" + strings.Join(in, ", ") + ")"
			}
			ofCategory = append(ofCategory, sentence+".")
		}
		slices.Sort(ofCategory)
		sentences = append(sentences, ofCategory...)
	}
	return strings.Join(sentences, " ")
}

func describePeriod(c models.RetentionCategory, days int) string {
	data, verb, pronoun := "Contact data", "is", "it"
	if c == models.RetainConsent {
		data, verb, pronoun = "The details of your consent", "are", "they"
	}
	if days == 0 {
		return fmt.Sprintf("%s %s stored until %s %s erased, for example at your request", data, verb, pronoun, verb)
	}
	unit := "days"
	if days == 1 {
		unit = "day"
	}
	return fmt.Sprintf("%s %s erased %d %s after the lead was received", data, verb, days, unit)
}

// countryName returns the English name of a country, or the code itself if it is not known.
func countryName(code string) string {
	region, err := language.ParseRegion(code)
	if err != nil {
		return code
	}
	return cmp.Or(display.English.Regions().Name(region), code)
}
