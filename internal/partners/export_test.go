package partners

// FoldAt makes Count add ledger entries to daily_lead_counts once it finds n entries.
func (c *Caps) FoldAt(n int) { c.foldAt = n }

// RollUpLimit is the maximum number of ledger entries that a count reads.
const RollUpLimit = rollUpLimit

// Constraints maps the schema's constraints to errors.
var Constraints = constraints
