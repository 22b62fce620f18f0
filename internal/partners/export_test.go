package partners

// FoldAt has Count add ledger entries to daily_lead_counts as soon as it finds n.
func (c *Caps) FoldAt(n int) { c.foldAt = n }

// RollUpLimit is how many ledger entries a count reads at most.
const RollUpLimit = rollUpLimit

// Constraints are the errors for what the schema rejects.
var Constraints = constraints
