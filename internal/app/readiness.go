package app

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pingpost/pingpost/internal/clock"
)

const (
	readinessEvery = 2 * time.Second
	// commitTimeout limits the trial commit that checks whether the database confirms commits.
	commitTimeout = 3 * time.Second

	stateUnknown = "unknown"
)

// readiness contains the state of the readiness checks. followReadiness runs these checks in the
// background, so that changes are logged even if no load balancer requests /readyz.
type readiness struct {
	commits atomic.Pointer[string]
	gauge   *prometheus.GaugeVec
	failing map[string]failureLog // by check; used only by followReadiness
}

func newReadiness(registry *prometheus.Registry) *readiness {
	r := &readiness{
		gauge: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pingpost_ready",
			Help: "1 if the check of /readyz passes, otherwise 0.",
		}, []string{"check"}),
		failing: map[string]failureLog{},
	}
	registry.MustRegister(r.gauge)
	unknown := stateUnknown
	r.commits.Store(&unknown)
	return r
}

// tryCommit checks that the database confirms commits. If a synchronous standby is down, queries succeed
// but commits wait.
func (a *App) tryCommit(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	state := stateOK
	switch err := a.db.Commit(bounded); {
	case errors.Is(err, context.DeadlineExceeded):
		state = "not confirmed within " + commitTimeout.String() + ": check that the synchronous standby is running"
	case err != nil:
		state = err.Error()
	}
	a.readiness.commits.Store(&state)
}

func (a *App) followReadiness(ctx context.Context) {
	tick := time.NewTicker(readinessEvery)
	defer tick.Stop()
	for {
		if states := a.checks(ctx); ctx.Err() == nil {
			a.noteChanges(states)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			a.tryCommit(ctx)
		}
	}
}

// noteChanges logs each check that fails, as failureLog decides, and each check that passes again. An
// unknown state does not count as a change.
func (a *App) noteChanges(states map[string]string) {
	r := a.readiness
	for check, state := range states {
		ok := state == stateOK
		value := 0.0
		if ok {
			value = 1
		}
		r.gauge.WithLabelValues(check).Set(value)
		failure := r.failing[check]
		switch {
		case state == stateUnknown:
		case ok && failure.end():
			a.log.Info("check passes again", "check", check)
		case !ok && failure.due(state, clock.System{}.Now()):
			a.log.Warn("check fails", "check", check, "why", state)
		}
		r.failing[check] = failure
	}
}
