package admin

// payoutRoutes are the pages and forms about the ledger, returns and payout runs.
func (c *Console) payoutRoutes() []route { return nil }
