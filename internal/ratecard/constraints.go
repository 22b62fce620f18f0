package ratecard

import (
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

var errPublished = apperr.New(apperr.Conflict, "published",
	"A published rate card cannot be changed. Create a draft and publish it.")

func constraints() postgres.Constraints {
	return postgres.Constraints{
		"pricing_rules_immutable": errPublished,
		"rate_cards_immutable":    errPublished,
		"rate_cards_version_key": apperr.New(apperr.Conflict, "version_taken",
			"Another rate card was published at the same time. Try again."),
		"jobs_one_open": apperr.New(apperr.Conflict, "replay_started",
			"A replay of this draft was started at the same time. Reload the page."),
		"rate_cards_one_scheduled": apperr.New(apperr.Conflict, "scheduled",
			"Another draft is already scheduled. Withdraw that one first."),
	}
}
