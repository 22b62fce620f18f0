package partners

import (
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// constraints returns the error to report for each database constraint that a change can violate. Checks
// in this package return these errors first, but two concurrent requests can both pass a check.
func constraints() postgres.Constraints {
	return postgres.Constraints{
		"partners_slug_key":          errSlugTaken,
		"partners_slug_form":         invalid("slug_form", apperr.InvalidValue, "slug", slugForm),
		"partners_name_given":        errNoPartnerName,
		"accounts_identifier_key":    errIdentifierTaken,
		"accounts_identifier_folded": errIdentifierTakenFolded,
		"accounts_identifier_form":   invalid("identifier_form", apperr.InvalidValue, "identifier", identifierForm),
		"accounts_name_given":        errNoAccountName,
		"accounts_one_default": apperr.New(apperr.Conflict, "second_default",
			"Another account became the default account at the same time. Reload the page and try again."),
		"signing_secrets_digest_key":  errSecretKnown,
		"partner_prices_cap_positive": errDailyLeadCap,
		"partner_prices_adjustment_range": invalid("adjustment", apperr.InvalidValue, "adjustment",
			"The adjustment must be from -90% to +900%."),
	}
}
