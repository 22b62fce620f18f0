package clock

import (
	"sync"
	"testing"
	"time"
)

func TestManualStandsStillUntilItIsMoved(t *testing.T) {
	cest := time.FixedZone("CEST", 2*60*60)
	start := time.Date(2026, 7, 1, 0, 30, 0, 5, cest)
	m := NewManual(start)
	want := func(step string, at time.Time) {
		t.Helper()
		if got := m.Now(); !got.Equal(at) || got.Location() != time.UTC {
			t.Errorf("%s: %s, want %s in UTC", step, got, at.UTC())
		}
	}
	want("at first", start)
	want("asked again", start)
	m.Advance(90 * time.Minute)
	want("advanced", start.Add(90*time.Minute))
	m.Advance(-2 * time.Hour)
	want("turned back", start.Add(-30*time.Minute))
	m.Set(start.AddDate(0, 1, 0))
	want("set", start.AddDate(0, 1, 0))
}

// The race detector is what this test is for, besides the sum.
func TestManualIsSafeForConcurrentUse(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := NewManual(start)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 100 {
				m.Advance(time.Millisecond)
				if m.Now().Before(start) {
					t.Error("the clock went back")
				}
			}
		})
	}
	all.Wait()
	if got := m.Now().Sub(start); got != 1600*time.Millisecond {
		t.Errorf("1600 steps of 1 ms made %s", got)
	}
}

func TestSystemIsUTCAndAheadByItsOffset(t *testing.T) {
	const offset = 20 * time.Minute
	before := System{}.Now()
	ahead := System{Offset: offset}.Now()
	after := System{}.Now()
	if ahead.Location() != time.UTC || before.Location() != time.UTC {
		t.Errorf("%s and %s, want UTC", before.Location(), ahead.Location())
	}
	if ahead.Before(before.Add(offset)) || ahead.After(after.Add(offset)) {
		t.Errorf("%s is not %s ahead of a moment between %s and %s", ahead, offset, before, after)
	}
}
