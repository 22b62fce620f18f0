package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

const (
	platformMetricsEvery   = 30 * time.Second
	platformMetricsTimeout = 10 * time.Second
)

// platformMetrics describe the whole platform. Each node reads them from the database, so all nodes have the same
// values.
type platformMetrics struct {
	jobs, oldestJob               *prometheus.GaugeVec
	pendingErasures, retentionRun prometheus.Gauge
	retentionDue                  prometheus.Gauge
	auditVerifiedAt, auditIntact  prometheus.Gauge
	verified                      audit.Verdict // of the events that are verified; used only by verifyAudit
}

func newPlatformMetrics(registry *prometheus.Registry) *platformMetrics {
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
		registry.MustRegister(g)
		return g
	}
	vector := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		registry.MustRegister(g)
		return g
	}
	m := &platformMetrics{
		jobs: vector("pingpost_jobs",
			"Jobs that are waiting or running, and jobs that failed in the last 30 days.", "kind", "state"),
		oldestJob: vector("pingpost_jobs_oldest_seconds",
			"Time since the oldest waiting or running job was enqueued; 0 if there is no such job.", "kind"),
		pendingErasures: gauge("pingpost_erasures_pending", "Entries of the erasure journal that have not been carried out."),
		retentionRun: gauge("pingpost_retention_run_timestamp_seconds",
			"Unix time at which the last retention run ended; 0 if none has ended."),
		retentionDue: gauge("pingpost_retention_due_leads",
			"Leads whose retention period has passed but that are not erased, counted every hour; "+
				"-1 if they cannot be counted in time."),
		auditVerifiedAt: gauge("pingpost_audit_verified_timestamp_seconds",
			"Unix time at which this node last verified the audit log; 0 until the first verification ends. "+
				"Only nodes with a console verify it, every hour."),
		auditIntact: gauge("pingpost_audit_intact",
			"0 if this node found that the audit log was changed, otherwise 1."),
	}
	m.setJobs(nil, time.Time{})
	m.auditIntact.Set(1)
	return m
}

// setJobs sets the metrics of all kinds of jobs, also of those without a backlog.
func (m *platformMetrics) setJobs(backlogs []jobs.Backlog, now time.Time) {
	for _, kind := range models.JobKinds {
		counts, oldest := map[models.JobState]int64{}, now
		for _, b := range backlogs {
			if b.Kind != kind {
				continue
			}
			counts[b.State] = b.Jobs
			if b.State != models.JobFailed && b.Oldest.Before(oldest) {
				oldest = b.Oldest
			}
		}
		m.oldestJob.WithLabelValues(string(kind)).Set(now.Sub(oldest).Seconds())
		for _, state := range []models.JobState{models.JobWaiting, models.JobRunning, models.JobFailed} {
			m.jobs.WithLabelValues(string(kind), string(state)).Set(float64(counts[state]))
		}
	}
}

// followPlatform reads the platform's metrics every 30 seconds.
func (a *App) followPlatform(ctx context.Context) {
	a.every(ctx, platformMetricsEvery, "reading the platform's metrics", func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, platformMetricsTimeout)
		defer cancel()
		return false, a.readPlatform(ctx)
	})
}

func (a *App) readPlatform(ctx context.Context) error {
	backlogs, err := a.queue.Backlogs(ctx)
	if err != nil {
		return err
	}
	a.platform.setJobs(backlogs, a.clock.Now())
	pending, err := a.privacy.Erasures.Pending(ctx)
	if err != nil {
		return err
	}
	a.platform.pendingErasures.Set(float64(pending))
	ended, err := a.privacy.Retention.LastEnd(ctx)
	if err != nil {
		return err
	}
	if !ended.IsZero() {
		a.platform.retentionRun.Set(float64(ended.Unix()))
	}
	return nil
}

// countDue counts the leads that the next retention run will erase.
func (a *App) countDue(ctx context.Context) {
	plan, err := a.privacy.Retention.Plan(ctx, platformMetricsTimeout)
	if err != nil {
		if ctx.Err() == nil {
			a.log.Warn("cannot count the leads whose retention period has passed, retrying in an hour", "error",
				postgres.Translate(err))
		}
		return
	}
	var due float64
	for _, p := range plan.Periods {
		if !p.Due.Complete {
			a.platform.retentionDue.Set(-1)
			return
		}
		due += float64(p.Due.Leads)
	}
	a.platform.retentionDue.Set(due)
}

// verifyAudit verifies the events that were added to the audit log since the last verification. The first verification
// reads the whole log; if it takes longer than stepTimeout, the next one continues it.
func (a *App) verifyAudit(ctx context.Context) {
	if a.admin == nil {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	v, err := a.audit.Continue(bounded, a.platform.verified)
	switch {
	case err != nil && ctx.Err() == nil:
		a.log.Warn("cannot verify the audit log, retrying in an hour", "error", postgres.Translate(err))
	case err == nil && !v.Intact():
		a.platform.auditIntact.Set(0)
		a.log.Error("the audit log was changed; compare it with a backup", "event", v.BrokenAt, "last_events_missing",
			v.HeadMissing)
	case err == nil:
		a.platform.auditIntact.Set(1)
		a.platform.auditVerifiedAt.Set(float64(clock.System{}.Now().Unix()))
	}
	v.BrokenAt, v.HeadMissing = 0, false // the next verification checks the same event again
	a.platform.verified = v
}
