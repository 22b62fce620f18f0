package staff

// Constraints exports constraints.
var Constraints = constraints
