//go:build race

package intake_test

// raceAllocations is how many allocations the race detector adds to a ping.
const raceAllocations = 1
