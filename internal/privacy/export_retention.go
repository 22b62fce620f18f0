package privacy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// exportKept is the end of an export's text about retention.
const exportKept = "Data that is needed for a legal claim can be stored for longer. The lead's ID, its price, and the fact and time of your consent are kept as business records."

// exportRetention returns how long the data of leads is stored. The ids are in ascending order.
func (s *Service) exportRetention(ctx context.Context, ids []uuid.UUID) (string, error) {
	if len(ids) == 0 {
		return exportKept, nil
	}
	rows, err := s.db.Pool.Query(ctx, `SELECT DISTINCT country FROM leads WHERE id = ANY ($1) AND id BETWEEN $2 AND $3`,
		postgres.PlanEachTime, ids, ids[0], ids[len(ids)-1])
	if err != nil {
		return "", postgres.Translate(err)
	}
	countries, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return "", postgres.Translate(err)
	}
	inEffect, _, err := readPeriods(s.db.Gorm.WithContext(ctx))
	if err != nil {
		return "", postgres.Translate(err)
	}
	return inEffect.describe(countries) + " " + exportKept, nil
}

// describe returns sentences with the periods of the leads from some countries. It names the countries only if
// their periods differ.
func (p periods) describe(countries []string) string {
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
