package clock

import (
	"sync"
	"testing"
	"time"
)

func TestManualStandsStillUntilItIsSet(t *testing.T) {
	cest := time.FixedZone("CEST", 2*60*60)
	start := time.Date(2026, 7, 1, 0, 30, 0, 5, cest)
	m := NewManual(start)
	want := func(step string, at time.Time) {
		t.Helper()
		if got := m.Now(); !got.Equal(at) || got.Location() != time.UTC {
			t.Errorf("%s: got %s, want %s in UTC", step, got, at.UTC())
		}
	}
	want("at first", start)
	want("second call", start)
	m.Advance(90 * time.Minute)
	want("advanced", start.Add(90*time.Minute))
	m.Advance(-2 * time.Hour)
	want("moved back", start.Add(-30*time.Minute))
	m.Set(start.AddDate(0, 1, 0))
	want("set", start.AddDate(0, 1, 0))
}

// The test checks the sum, and the race detector checks that access is synchronised.
func TestManualIsSafeForConcurrentUse(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := NewManual(start)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 100 {
				m.Advance(time.Millisecond)
				if m.Now().Before(start) {
					t.Error("Now is earlier than the start")
				}
			}
		})
	}
	all.Wait()
	if got := m.Now().Sub(start); got != 1600*time.Millisecond {
		t.Errorf("the clock moved by %s after 1600 steps of 1 ms", got)
	}
}

func TestSystemIsUTCAndAheadByItsOffset(t *testing.T) {
	const offset = 20 * time.Minute
	before := System{}.Now()
	ahead := System{Offset: offset}.Now()
	after := System{}.Now()
	if ahead.Location() != time.UTC || before.Location() != time.UTC {
		t.Errorf("got locations %s and %s, want UTC", before.Location(), ahead.Location())
	}
	if ahead.Before(before.Add(offset)) || ahead.After(after.Add(offset)) {
		t.Errorf("%s is not %s ahead of the time between %s and %s", ahead, offset, before, after)
	}
}
