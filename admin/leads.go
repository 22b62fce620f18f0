package admin

// leadRoutes are the pages about leads.
func (c *Console) leadRoutes() []route { return nil }
