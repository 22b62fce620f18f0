package reporting

import "context"

// CheckDaily is checkDaily for tests.
func (r *Rollup) CheckDaily(ctx context.Context) error { return r.checkDaily(ctx) }

// SubIDsSQL exports subIDsSQL for tests.
var SubIDsSQL = subIDsSQL
