package payouts

import (
	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/postgres"
)

var (
	// errEntryExists means that the partner has a ledger entry of this kind and reference.
	errEntryExists = apperr.New(apperr.Conflict, "entry_exists", "This ledger entry exists already.")

	errOpenRun = apperr.New(apperr.Conflict, "open_run",
		"Another payout run in this currency was open a moment ago. Try again.")
	errReturned = apperr.New(apperr.Conflict, "returned", "This lead is being returned already, or was.")
)

// constraints are the errors for what the schema rejects of this package's rows.
func constraints() postgres.Constraints {
	return postgres.Constraints{
		"returns_one_a_lead":           errReturned,
		"payout_runs_one_open":         errOpenRun,
		"payout_runs_immutable":        ErrStaleRun,
		"payout_runs_two_people":       errSameUser,
		"ledger_entries_reference_key": errEntryExists,
	}
}
