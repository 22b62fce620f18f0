package intake

import (
	"strconv"
	"testing"
	"time"
)

var testTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestRateLimitPerKey(t *testing.T) {
	t.Parallel()
	now := testTime
	b := newRateLimiter[string](2, time.Minute)
	for range 2 {
		if ok, _ := b.allows("a", now); !ok {
			t.Fatal("limited before the limit was reached")
		}
		b.spend("a", now)
	}
	now = now.Add(20 * time.Second)
	for name, ask := range map[string]func(string, time.Time) (bool, time.Duration){"left": b.allows, "take": b.take} {
		if ok, wait := ask("a", now); ok || wait != 40*time.Second {
			t.Errorf("%s: got %t, %s; want the rest of the minute", name, ok, wait)
		}
	}
	if ok, _ := b.take("b", now); !ok {
		t.Error("requests of one key count for another")
	}
	now = now.Add(40*time.Second - 1)
	if ok, wait := b.allows("a", now); ok || wait != 1 {
		t.Errorf("left: got %t, %s; want the last nanosecond", ok, wait)
	}
	now = now.Add(1)
	for want := range 2 {
		if ok, _ := b.take("a", now); !ok {
			t.Errorf("request %d of the next minute was rejected", want)
		}
	}
	if ok, _ := b.take("a", now); ok {
		t.Error("got a third request with a limit of 2")
	}
}

func TestUnlimitedRate(t *testing.T) {
	t.Parallel()
	b := newRateLimiter[string](0, time.Minute)
	for range 10 {
		b.spend("a", testTime)
		if ok, _ := b.take("a", testTime); !ok {
			t.Fatal("rejected without a limit")
		}
	}
	if ok, _ := b.allows("a", testTime); !ok || len(b.spent) != 0 {
		t.Errorf("left: %t, with %d keys stored", ok, len(b.spent))
	}
}

// If the clock is set back, requests are still accepted, even before it has caught up.
func TestRateLimitWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	b := newRateLimiter[string](1, time.Minute)
	b.spend("a", testTime)
	if ok, _ := b.allows("a", testTime.Add(-time.Hour)); !ok {
		t.Error("rejected after the clock was set back")
	}
}

// The memory of a rateLimiter is limited, however many keys there are.
func TestRateLimiterLimitsMemory(t *testing.T) {
	t.Parallel()
	b := newRateLimiter[string](1, time.Minute)
	for i := range maxLimiterKeys + 2 {
		b.spend(strconv.Itoa(i), testTime)
	}
	if len(b.spent) != 1 {
		t.Errorf("got %d keys, want 1", len(b.spent))
	}
}
