package payouts

import (
	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/postgres"
)

// errEntryExists means that the partner has a ledger entry of this kind and reference.
var errEntryExists = apperr.New(apperr.Conflict, "entry_exists", "This ledger entry exists already.")

// constraints are the errors for what the schema rejects of this package's rows.
func constraints() postgres.Constraints {
	return postgres.Constraints{
		"returns_one_a_lead": apperr.New(apperr.Conflict, "returned", "This lead is being returned already, or was."),
		"payout_runs_one_open": apperr.New(apperr.Conflict, "open_run",
			"Another payout run in this currency was open a moment ago. Try again."),
		"payout_runs_immutable": apperr.New(apperr.Conflict, "stale",
			"This run does not change any more: load the page again."),
		"payout_runs_two_people": apperr.New(apperr.Forbidden, "same_person",
			"You prepared this run: somebody else approves it."),
		"ledger_entries_reference_key": errEntryExists,
	}
}
