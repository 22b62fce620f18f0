package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pingpost/pingpost/internal/base/failurelog"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// A failing check is logged immediately, when its reason changes, and every minute.
func TestFailingChecksAreLogged(t *testing.T) {
	synctest.Test(t, failingChecksAreLogged)
}

func failingChecksAreLogged(t *testing.T) {
	logger, log := testkit.NewLog()
	a := &App{log: logger, readiness: newReadiness(prometheus.NewRegistry())}
	denied := checkState{"denied", "Vault denied access; 12 data keys left"}
	for i, step := range []struct {
		state                checkState
		later                bool // a minute after the last line
		failures, recoveries int
	}{
		{state: stateUnknown},
		{state: stateOK},
		{state: checkState{"sealed", "Vault is sealed; 900 data keys left"}, failures: 1},
		{state: checkState{"sealed", "Vault is sealed; 12 data keys left"}, failures: 1},
		{state: stateUnknown, failures: 1},
		{state: denied, failures: 2},
		{state: checkState{"denied", "Vault denied access; 0 data keys left"}, failures: 2},
		{state: checkState{"denied", "Vault denied access; 0 data keys left"}, later: true, failures: 3},
		{state: checkState{"denied", "Vault denied access; 0 data keys left"}, failures: 3},
		{state: stateUnknown, later: true, failures: 3},
		{state: stateOK, failures: 3, recoveries: 1},
		{state: stateOK, failures: 3, recoveries: 1},
		{state: checkState{"denied", "Vault denied access; 0 data keys left"}, failures: 4, recoveries: 1},
	} {
		if step.later {
			time.Sleep(failurelog.Every)
		}
		a.noteChanges(checkStates{"key_wrapper": step.state, "database": stateOK})
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

// If several consecutive failures have the same reason, only the first one is logged.
func TestFailuresOfRepeatedWorkAreLogged(t *testing.T) {
	t.Parallel()
	logger, log := testkit.NewLog()
	a := &App{log: logger}
	ctx, cancel := context.WithCancel(t.Context())
	reasons := []string{"42501", "42501", "55P03", "55P03", "", "55P03", "55P03"}
	a.every(ctx, time.Nanosecond, "some work", func(context.Context) (bool, error) {
		if len(reasons) == 0 {
			cancel()
			return false, nil
		}
		state := reasons[0]
		reasons = reasons[1:]
		if state == "" {
			return false, nil
		}
		return false, &postgres.Err{SQLState: state}
	})
	if first, second := log.Count("SQLSTATE 42501"), log.Count("SQLSTATE 55P03"); first != 1 || second != 2 {
		t.Errorf("logged %d and %d times, want 1 and 2:\n%s", first, second, log)
	}
}
