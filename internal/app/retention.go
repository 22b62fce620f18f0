package app

import (
	"context"
	"time"

	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// retentionCheckEvery is how often a node checks whether the daily run is due or was interrupted.
const retentionCheckEvery = time.Minute

// enqueueRetentionRuns enqueues the daily run that erases leads whose retention period has passed.
func (a *App) enqueueRetentionRuns(ctx context.Context) {
	a.every(ctx, retentionCheckEvery, "enqueuing the daily retention run", func(ctx context.Context) (bool, error) {
		return false, a.privacy.Retention.EnqueueDaily(ctx)
	})
}

// expiryStep deletes one type of expired data. The function do returns the number of deleted rows or
// partitions.
type expiryStep struct {
	name string
	do   func(context.Context) (int64, error)
}

func (a *App) expirySteps(now time.Time) []expiryStep {
	return []expiryStep{
		{"pings", func(ctx context.Context) (int64, error) {
			return a.db.DropPingPartitions(ctx, now.AddDate(0, 0, -a.cfg.Retention.PingsDays))
		}},
		{"traffic", func(ctx context.Context) (int64, error) {
			return a.db.DeleteTrafficMinutes(ctx, now.AddDate(0, 0, -a.cfg.Retention.TrafficDays))
		}},
		{"request log", func(ctx context.Context) (int64, error) {
			before := now.AddDate(0, 0, -a.cfg.Retention.RequestLogDays)
			requests, err := a.db.DeleteRequests(ctx, before)
			if err != nil {
				return requests, err
			}
			durations, err := a.db.DeletePostDurations(ctx, before)
			return requests + durations, err
		}},
		{"body digests", func(ctx context.Context) (int64, error) { return a.leads.DeleteExpiredBodies(ctx, now) }},
		{"sessions", a.staff.DeleteExpired},
		{"files", a.files.DeleteExpired},
		{"exports", a.payouts.DeleteExpiredExports},
		{"ended jobs", a.queue.DeleteExpired},
		{"discarded reconciliations", a.reconcile.DeleteExpired},
		{"closed privacy requests", a.privacy.Requests.DeleteOld},
		{"sandbox leads", func(ctx context.Context) (int64, error) {
			return a.leads.DeleteSandbox(ctx, now.AddDate(0, 0, -a.cfg.Retention.SandboxDays))
		}},
	}
}

func (a *App) deleteExpired(ctx context.Context, s expiryStep) {
	bounded, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	n, err := s.do(bounded)
	if err != nil && ctx.Err() == nil {
		a.log.Warn("cannot run retention, retrying in an hour", "what", s.name, "error", postgres.Translate(err))
	} else if n > 0 {
		a.log.Info("retention", "what", s.name, "gone", n)
	}
}
