package payouts

// AccountsNext is how many accounts the next step of a run takes.
var AccountsNext = accountsNext

// InSmallSteps has runs claim one account in a transaction, so that a test can stop one
// between.
func (s *Service) InSmallSteps() { s.atOnce = 1 }

// Constraints are the errors for what the schema rejects.
var Constraints = constraints
