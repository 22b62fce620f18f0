package reconcile

import "github.com/pingpost/pingpost/internal/postgres"

// constraints maps each database constraint to the error that is returned when it is violated.
func constraints() postgres.Constraints {
	return postgres.Constraints{"reconciliations_immutable": errStale}
}
