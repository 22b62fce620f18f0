package app

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/failurelog"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

const (
	readinessEvery = 2 * time.Second
	// commitTimeout limits the trial commit that checks whether the database confirms commits.
	commitTimeout = 3 * time.Second
	// repairTimeout limits one attempt to create missing partitions, or to attach them again.
	repairTimeout = 10 * time.Minute
)

// checkState is the state of a check. JSON and logs contain its text.
type checkState struct {
	reason string // "" if the check passes, otherwise one of a fixed set of words for metrics
	text   string // "ok", or a description of the problem for operators
}

var (
	stateOK      = checkState{"", "ok"}
	stateUnknown = checkState{"unknown", "unknown"}
)

// MarshalText implements encoding.TextMarshaler.
func (s checkState) MarshalText() ([]byte, error) { return []byte(s.text), nil }

// checkStates are the states of checks, by the name of the check.
type checkStates map[string]checkState

// readiness contains the state of the readiness checks. followReadiness runs these checks in the
// background, so that changes are logged even if no load balancer requests /readyz.
type readiness struct {
	commits    atomic.Pointer[checkState]
	partitions atomic.Pointer[checkState]
	gauge      *prometheus.GaugeVec
	reasons    *prometheus.GaugeVec
	horizons   *prometheus.GaugeVec
	schema     prometheus.Gauge
	skew       prometheus.Gauge
	noted      checkStates                 // of the last noteChanges; used only by followReadiness
	failing    map[string]failurelog.State // by check; used only by followReadiness

	repairing     atomic.Bool            // repairPartitions is running
	repairFailure atomic.Pointer[string] // of the last repairPartitions; nil if it succeeded
}

func newReadiness(registry *prometheus.Registry) *readiness {
	r := &readiness{
		gauge: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pingpost_ready",
			Help: "1 if the check of /readyz passes, otherwise 0.",
		}, []string{"check"}),
		reasons: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pingpost_check_failing",
			Help: "1 if the check of /readyz fails, with a word for the reason, otherwise 0.",
		}, []string{"check", "reason"}),
		schema: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pingpost_database_schema",
			Help: "Version of the database's schema.",
		}),
		skew: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pingpost_clock_skew_seconds",
			Help: "How much this machine's clock is ahead of the database's; negative if it is behind.",
		}),
		horizons: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pingpost_partitions_end_timestamp_seconds",
			Help: "Unix time until which the table has partitions; 0 if the current one is missing.",
		}, []string{"table"}),
		noted:   checkStates{},
		failing: map[string]failurelog.State{},
	}
	registry.MustRegister(r.gauge, r.reasons, r.horizons, r.schema, r.skew)
	unknown := stateUnknown
	r.commits.Store(&unknown)
	r.setPartitions(stateUnknown)
	return r
}

// tryCommit checks that the database confirms commits. If a synchronous standby is down, queries succeed
// but commits wait.
func (a *App) tryCommit(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	state := stateOK
	switch err := a.db.Commit(bounded); {
	case errors.Is(err, postgres.ErrNotConfirmed):
		state = checkState{"not_confirmed", "not confirmed within " + commitTimeout.String() +
			": check that the database responds and the synchronous standby is running"}
	case err != nil:
		state = checkState{"failed", err.Error()}
	}
	a.readiness.commits.Store(&state)
}

// checkPartitions checks that the tables that posts write to have their current partitions, and starts
// to create missing ones. The check passes again the next time that checkPartitions runs.
func (a *App) checkPartitions(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	horizons, err := a.db.Horizons(bounded, a.clock.Now())
	if err != nil {
		return // the last state stays in use, because the query also waits while a table is locked
	}
	var missing []string
	for _, h := range horizons {
		var until float64
		if !h.Until.IsZero() {
			until = float64(h.Until.Unix())
		}
		a.readiness.horizons.WithLabelValues(h.Table).Set(until)
		if h.Posts && h.Until.IsZero() {
			missing = append(missing, h.Table)
		}
	}
	if len(missing) == 0 {
		a.readiness.setPartitions(stateOK)
		return
	}
	problem := "current partition missing in " + strings.Join(missing, ", ")
	if failure := a.readiness.repairFailure.Load(); failure != nil {
		a.readiness.setPartitions(checkState{"cannot_create", problem + ", and it cannot be created: " + *failure})
	} else {
		a.readiness.setPartitions(checkState{"missing", problem + "; it is being created"})
	}
	if a.readiness.repairing.CompareAndSwap(false, true) {
		a.background.Go(func() {
			defer a.readiness.repairing.Store(false)
			a.repairPartitions(ctx)
		})
	}
}

// repairPartitions creates missing partitions. It does not run in followReadiness, because attaching a large detached
// partition takes a long time.
func (a *App) repairPartitions(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, repairTimeout)
	defer cancel()
	var failure *string
	if err := a.ensurePartitions(ctx); err != nil {
		text := postgres.Translate(err).Error()
		failure = &text
	}
	a.readiness.repairFailure.Store(failure)
}

func (r *readiness) setPartitions(state checkState) { r.partitions.Store(&state) }

// checkStoring tries to write to the database if the last posts could not be stored. If the database
// commits the write, the node becomes ready for posts again, until the next post fails.
func (a *App) checkStoring(ctx context.Context) {
	if a.leads.Failing() == nil {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	if a.db.CheckWrites(bounded) == nil {
		a.leads.Recovered()
	}
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
			a.checkStoring(ctx)
			a.checkPartitions(ctx)
		}
	}
}

// noteChanges logs each check that fails, as failurelog.State decides, and each check that passes again. An
// unknown state does not count as a change.
func (a *App) noteChanges(states checkStates) {
	r := a.readiness
	for check, state := range states {
		ok := state == stateOK
		passes, fails := 1.0, 0.0
		if !ok {
			passes, fails = 0, 1
		}
		r.gauge.WithLabelValues(check).Set(passes)
		r.reasons.WithLabelValues(check, state.reason).Set(fails)
		if before := r.noted[check]; before.reason != state.reason {
			r.reasons.DeleteLabelValues(check, before.reason)
		}
		r.noted[check] = state
		failure := r.failing[check]
		switch {
		case state == stateUnknown:
		case ok && failure.End():
			a.log.Info("check passes again", "check", check)
		case !ok && failure.Due(state.text, clock.System{}.Now()):
			a.log.Warn("check fails", "check", check, "why", state.text)
		}
		r.failing[check] = failure
	}
}
