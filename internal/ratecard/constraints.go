package ratecard

import (
	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/postgres"
)

var errPublished = apperr.New(apperr.Conflict, "published", "A published rate card does not change: make a new version.")

// constraints are the errors for what the schema rejects of this package's rows.
func constraints() postgres.Constraints {
	return postgres.Constraints{
		"pricing_rules_immutable": errPublished,
		"rate_cards_immutable":    errPublished,
		"rate_cards_version_key": apperr.New(apperr.Conflict, "version_taken",
			"Another rate card was made with this version meanwhile: try again."),
		"rate_cards_one_scheduled": apperr.New(apperr.Conflict, "scheduled",
			"Another draft is to be published at its time already: take that one back first."),
	}
}
