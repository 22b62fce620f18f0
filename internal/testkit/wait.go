package testkit

import (
	"testing"
	"time"
)

// Eventually asks until the answer is yes, and fails the test when it does not
// come in time. It is for what another goroutine or process does.
func Eventually(t testing.TB, within time.Duration, what string, yes func() bool) {
	t.Helper()
	end := time.NewTimer(within)
	defer end.Stop()
	ask := time.NewTicker(2 * time.Millisecond)
	defer ask.Stop()
	for !yes() {
		select {
		case <-end.C:
			t.Fatalf("not within %s: %s", within, what)
		case <-ask.C:
		}
	}
}
