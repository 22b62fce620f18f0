package testkit

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Eventually evaluates a condition until it is true, and fails the test if it is still false after
// the given time. Use it for the effects of other goroutines and processes.
func Eventually(t testing.TB, within time.Duration, what string, yes func() bool) {
	t.Helper()
	start := time.Now()
	for !yes() {
		waited := time.Since(start)
		if waited > within {
			t.Fatalf("condition not met within %s: %s", within, what)
		}
		// Many tests wait at the same time. Checking at ever longer intervals leaves processor time for the work that
		// they wait for.
		time.Sleep(min(max(waited/10, time.Millisecond), 100*time.Millisecond))
	}
}

// AwaitNoLeaks fails the test if goroutines are still running after a minute, except for those that the
// options exclude. On a busy machine, a goroutine may take a while to end.
func AwaitNoLeaks(t testing.TB, options ...goleak.Option) {
	t.Helper()
	err := goleak.Find(options...)
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); {
		err = goleak.Find(options...)
	}
	if err != nil {
		t.Error(err)
	}
}
