//go:build race

package intake_test

// raceAllocations is the number of allocations that the race detector adds to a ping.
const raceAllocations = 1
