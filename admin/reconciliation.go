package admin

// reconciliationRoutes are the pages and forms about partners' own lists.
func (c *Console) reconciliationRoutes() []route { return nil }
