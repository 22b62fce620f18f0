package reconcile

import "github.com/pingpost/pingpost/internal/postgres"

// constraints are the errors for what the schema rejects of this package's rows.
func constraints() postgres.Constraints {
	return postgres.Constraints{"reconciliations_immutable": errStale}
}
