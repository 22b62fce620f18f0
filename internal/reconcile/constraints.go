package reconcile

import "github.com/pingpost/pingpost/internal/platform/postgres"

func constraints() postgres.Constraints {
	return postgres.Constraints{"reconciliations_immutable": errStale}
}
