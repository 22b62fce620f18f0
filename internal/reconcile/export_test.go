package reconcile

// Constraints are the errors for what the schema rejects.
var Constraints = constraints
