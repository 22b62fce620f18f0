package testkit

import (
	"testing"
	"time"
)

// Eventually evaluates a condition until it is true, and fails the test if it is still false after
// the given time. Use it for the effects of other goroutines and processes.
func Eventually(t testing.TB, within time.Duration, what string, yes func() bool) {
	t.Helper()
	end := time.NewTimer(within)
	defer end.Stop()
	ask := time.NewTicker(2 * time.Millisecond)
	defer ask.Stop()
	for !yes() {
		select {
		case <-end.C:
			t.Fatalf("condition not met within %s: %s", within, what)
		case <-ask.C:
		}
	}
}
