package payouts

import (
	"context"

	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// Months returns the months that a search for entries reads.
func (s *Service) Months(ctx context.Context, f Filter) ([]postgres.Period, error) {
	return s.months(ctx, s.db.Pool, f)
}

// AccountsNext is accountsNext for tests.
var AccountsNext = accountsNext

// ClaimOneAccountPerStep makes runs claim one account per transaction, so that a test can stop a
// run between two of them.
func (s *Service) ClaimOneAccountPerStep() { s.atOnce = 1 }

// Constraints is constraints for tests.
var Constraints = constraints
