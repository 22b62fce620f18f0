package ui

import (
	"slices"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/money"
)

func TestNumberAndAmount(t *testing.T) {
	for n, want := range map[int64]string{
		0:       "0",
		999:     "999",
		1000:    "1,000",
		1234567: "1,234,567",
		-4711:   "−4,711",
		-100:    "−100",
	} {
		if got := Number(n); got != want {
			t.Errorf("Number(%d) = %s, want %s", n, got, want)
		}
	}
	for minor, want := range map[int64]string{
		0:          "0.00",
		5:          "0.05",
		123450:     "1,234.50",
		-4560:      "−45.60",
		98123455:   "981,234.55",
		-100000000: "−1,000,000.00",
	} {
		if got := Amount(money.Amount{Minor: minor, Currency: money.GBP}); got != want {
			t.Errorf("Amount(%d) = %s, want %s", minor, got, want)
		}
	}
}

func TestTimesAndDurations(t *testing.T) {
	now := time.Date(2026, 11, 21, 19, 2, 44, 0, time.UTC)
	for before, want := range map[time.Duration]string{
		0: "just now", 40 * time.Second: "40 s ago", 90 * time.Second: "1 min ago", 23 * time.Hour: "23 h ago",
		50 * time.Hour: "2 d ago", 400 * 24 * time.Hour: "1 y ago", -23 * time.Hour: "in 23 h",
	} {
		if got := Ago(now.Add(-before), now); got != want {
			t.Errorf("Ago for %v = %s, want %s", before, got, want)
		}
	}
	if got, want := UTC(now.In(time.FixedZone("", 3600))), "2026-11-21 19:02:44 UTC"; got != want {
		t.Errorf("UTC = %s, want %s", got, want)
	}
	for d, want := range map[time.Duration]string{
		184 * time.Microsecond:   "184 µs",
		12400 * time.Microsecond: "12.4 ms",
		3100 * time.Millisecond:  "3.1 s",
		252 * time.Second:        "4 min 12 s",
		125 * time.Minute:        "2 h 05 min",
	} {
		if got := DurationText(d); got != want {
			t.Errorf("DurationText(%v) = %s, want %s", d, got, want)
		}
	}
}

// No value is above the top of the y axis, and half of the top is a whole number.
func TestTopOfAxis(t *testing.T) {
	for _, most := range []int64{0, 1, 2, 3, 8, 9, 10, 11, 99, 101, 13324, 1 << 40} {
		top := Chart{Series: []Series{{Values: []int64{0, most}}}}.top()
		if top < most || top%2 != 0 || (most > 4 && top > 2*most) {
			t.Errorf("top for the values 0 and %d = %d", most, top)
		}
	}
}

func TestAxisHasAtMostFiveTicks(t *testing.T) {
	for _, steps := range []int{0, 1, 2, 5, 7, 24, 60, 168} {
		c := Chart{Labels: make([]string, steps)}
		ticks := c.ticks()
		if len(ticks) > 5 || (steps > 0) != (len(ticks) > 0) {
			t.Errorf("%d steps: got %d ticks, want 1 to 5, or none without steps", steps, len(ticks))
		}
		if slices.ContainsFunc(ticks, func(mark tick) bool { return len(mark.at) > len("100.0%") }) {
			t.Errorf("%d steps: a tick is beyond the end of the axis: %v", steps, ticks)
		}
	}
}
