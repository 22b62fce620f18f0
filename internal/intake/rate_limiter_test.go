package intake

import (
	"strconv"
	"testing"
	"time"
)

var budgetStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestBudgetOfEach(t *testing.T) {
	now := budgetStart
	b := newRateLimiter[string](2, time.Minute)
	for range 2 {
		if ok, _ := b.left("a", now); !ok {
			t.Fatal("nothing left of 2 before they were spent")
		}
		b.spend("a", now)
	}
	now = now.Add(20 * time.Second)
	for name, ask := range map[string]func(string, time.Time) (bool, time.Duration){"left": b.left, "take": b.take} {
		if ok, wait := ask("a", now); ok || wait != 40*time.Second {
			t.Errorf("%s: %t, for %s; want the rest of the minute", name, ok, wait)
		}
	}
	if ok, _ := b.take("b", now); !ok {
		t.Error("one spends another's budget")
	}
	now = now.Add(40*time.Second - 1)
	if ok, wait := b.left("a", now); ok || wait != 1 {
		t.Errorf("left: %t, for %s; want the last nanosecond", ok, wait)
	}
	now = now.Add(1)
	for want := range 2 {
		if ok, _ := b.take("a", now); !ok {
			t.Errorf("the next minute begins with %d", want)
		}
	}
	if ok, _ := b.take("a", now); ok {
		t.Error("a third was taken of 2")
	}
}

func TestBudgetWithoutABound(t *testing.T) {
	b := newRateLimiter[string](0, time.Minute)
	for range 10 {
		b.spend("a", budgetStart)
		if ok, _ := b.take("a", budgetStart); !ok {
			t.Fatal("refused without a bound")
		}
	}
	if ok, _ := b.left("a", budgetStart); !ok || len(b.spent) != 0 {
		t.Errorf("left: %t, with %d remembered", ok, len(b.spent))
	}
}

// A clock that is set back does not keep anybody out until it has caught up.
func TestBudgetWhenTheClockIsSetBack(t *testing.T) {
	b := newRateLimiter[string](1, time.Minute)
	b.spend("a", budgetStart)
	if ok, _ := b.left("a", budgetStart.Add(-time.Hour)); !ok {
		t.Error("refused for an hour")
	}
}

// The memory of a budget is bounded, whatever the number of spenders.
func TestBudgetForgets(t *testing.T) {
	b := newRateLimiter[string](1, time.Minute)
	for i := range maxLimiterKeys + 2 {
		b.spend(strconv.Itoa(i), budgetStart)
	}
	if len(b.spent) != 1 {
		t.Errorf("%d are remembered, want the last alone", len(b.spent))
	}
}
