package app

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pingpost/pingpost/internal/testkit"
)

// A failing check is logged immediately, when its reason changes, and every minute.
func TestFailingChecksAreLogged(t *testing.T) {
	logger, log := testkit.NewLog()
	a := &App{log: logger, readiness: newReadiness(prometheus.NewRegistry())}
	minuteAgo := func() {
		f := a.readiness.failing["key_wrapper"]
		f.logged = f.logged.Add(-logFailureEvery)
		a.readiness.failing["key_wrapper"] = f
	}
	for i, step := range []struct {
		state                string
		later                bool // a minute after the last line
		failures, recoveries int
	}{
		{state: stateUnknown},
		{state: stateOK},
		{state: "Vault is sealed; 900 data keys left", failures: 1},
		{state: "Vault is sealed; 12 data keys left", failures: 1},
		{state: stateUnknown, failures: 1},
		{state: "Vault denied access; 12 data keys left", failures: 2},
		{state: "Vault denied access; 0 data keys left", failures: 2},
		{state: "Vault denied access; 0 data keys left", later: true, failures: 3},
		{state: "Vault denied access; 0 data keys left", failures: 3},
		{state: stateUnknown, later: true, failures: 3},
		{state: stateOK, failures: 3, recoveries: 1},
		{state: stateOK, failures: 3, recoveries: 1},
		{state: "Vault denied access; 0 data keys left", failures: 4, recoveries: 1},
	} {
		if step.later {
			minuteAgo()
		}
		a.noteChanges(map[string]string{"key_wrapper": step.state, "database": stateOK})
		if got := log.Count(`"level":"WARN"`); got != step.failures {
			t.Errorf("step %d: got %d warnings, want %d", i, got, step.failures)
		}
		if got := log.Count(`"level":"INFO"`); got != step.recoveries {
			t.Errorf("step %d: got %d recoveries, want %d", i, got, step.recoveries)
		}
	}
	if log.Count("Vault is sealed") != 1 {
		t.Errorf("the first reason is not logged once:\n%s", log)
	}
}

func TestFailureLog(t *testing.T) {
	var f failureLog
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
	} {
		if got := f.due(step.reason, at.Add(step.after)); got != step.due {
			t.Errorf("step %d: got %t, want %t", i, got, step.due)
		}
	}
	if !f.end() || f.end() {
		t.Error("a failure does not end once")
	}
}
