package postgres

import (
	"maps"
	"slices"
)

// Constraints are the names of the constraints that are told apart.
func Constraints() []string { return slices.Sorted(maps.Keys(constraints)) }
