package payouts

import (
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

var (
	// errEntryExists means that the partner already has a ledger entry with this kind and reference.
	errEntryExists = apperr.New(apperr.Conflict, "entry_exists", "This ledger entry already exists.")

	errOpenRun = apperr.New(apperr.Conflict, "open_run",
		"Another payout run in this currency is open. Reload the page.")
	errReturned = apperr.New(apperr.Conflict, "returned", "This lead already has an open or accepted return.")
)

func constraints() postgres.Constraints {
	return postgres.Constraints{
		"adjustments_pkey":       ErrAdjusted,
		"adjustments_two_people": errSameRequester,
		"returns_one_a_lead":     errReturned,
		"payout_runs_one_open":   errOpenRun,
		"payout_runs_immutable":  ErrStaleRun,
		"payout_runs_two_people": errSameUser,
		"ledger_references_pkey": errEntryExists,
	}
}
