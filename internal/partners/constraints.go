package partners

import (
	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/postgres"
)

// constraints are the errors for what the schema rejects of this package's rows.
func constraints() postgres.Constraints {
	return postgres.Constraints{
		"partners_slug_key": apperr.New(apperr.Conflict, "slug_taken",
			"A partner with this slug exists already: choose another slug."),
		"partners_slug_form": apperr.New(apperr.Invalid, "slug_form",
			"A slug has 1 to 63 lower-case letters, digits and hyphens, and neither starts nor ends with a hyphen."),
		"partners_name_given": apperr.New(apperr.Invalid, "name", "A partner needs a name."),
		"accounts_identifier_key": apperr.New(apperr.Conflict, "identifier_taken",
			"An account with this partnerId exists already: choose another."),
		"accounts_identifier_folded": apperr.New(apperr.Conflict, "identifier_taken",
			"An account with this partnerId, apart from upper and lower case, exists already: choose another."),
		"accounts_identifier_form": apperr.New(apperr.Invalid, "identifier_form",
			"A partnerId has 1 to 128 letters, digits, dots, hyphens and underscores, and starts with a letter or digit."),
		"accounts_name_given": apperr.New(apperr.Invalid, "name", "An account needs a name."),
		"accounts_one_default": apperr.New(apperr.Conflict, "second_default",
			"The partner has a default account already."),
		"signing_secrets_digest_key": apperr.New(apperr.Conflict, "secret_known",
			"This secret is in use on the platform already: choose another."),
		"partner_prices_cap_positive": apperr.New(apperr.Invalid, "cap",
			"A daily cap is 1 or more leads; leave it empty for none."),
		"partner_prices_adjustment_range": apperr.New(apperr.Invalid, "adjustment",
			"A price adjustment is between -90 % and +900 %."),
	}
}
