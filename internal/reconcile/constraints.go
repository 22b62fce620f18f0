package reconcile

import "github.com/pingpost/pingpost/internal/postgres"

// constraints maps constraints of the schema to this package's errors.
func constraints() postgres.Constraints {
	return postgres.Constraints{"reconciliations_immutable": errStale}
}
