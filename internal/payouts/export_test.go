package payouts

// InSmallSteps has runs claim one account in a transaction, so that a test can stop one
// between.
func (s *Service) InSmallSteps() { s.atOnce = 1 }
