package failurelog

import (
	"testing"
	"time"
)

// A failure is logged immediately, when its reason changes, and every minute. A different number in a reason is a
// change of the reason, except for numbers that change all the time.
func TestFailureLog(t *testing.T) {
	var f State
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, step := range []struct {
		after  time.Duration
		reason string
		due    bool
	}{
		{0, "refused", true},
		{time.Second, "refused", false},
		{59 * time.Second, "refused", false},
		{time.Minute, "refused", true},
		{61 * time.Second, "refused", false},
		{62 * time.Second, "host not found", true},
		{63 * time.Second, "refused", true},
		{122 * time.Second, "refused", false},
		{123 * time.Second, "refused", true},
		{124 * time.Second, "SQLSTATE 57014", true},
		{125 * time.Second, "SQLSTATE 55000", true},
		{126 * time.Second, "10.0.0.1:5432: timed out", true},
		{127 * time.Second, "10.0.0.2:5432: timed out", true},
		{128 * time.Second, "Vault is sealed; 900 data keys left", true},
		{129 * time.Second, "Vault is sealed; 12 data keys left", false},
		{130 * time.Second, "differs from the database's by 6.5s", true},
		{131 * time.Second, "differs from the database's by 1m7.25s", false},
	} {
		if got := f.Due(step.reason, at.Add(step.after)); got != step.due {
			t.Errorf("step %d: got %t, want %t", i, got, step.due)
		}
	}
	if !f.End() || f.End() {
		t.Error("a failure does not end once")
	}
}
