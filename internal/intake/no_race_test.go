//go:build !race

package intake_test

const raceAllocations = 0
