package payouts

// AccountsNext is accountsNext for tests.
var AccountsNext = accountsNext

// ClaimOneAccountPerStep makes runs claim one account per transaction, so that a test can stop a
// run between two of them.
func (s *Service) ClaimOneAccountPerStep() { s.atOnce = 1 }

// Constraints is constraints for tests.
var Constraints = constraints
