package admin

// workRoutes are the pages about work that takes longer than a page may.
func (c *Console) workRoutes() []route { return nil }
