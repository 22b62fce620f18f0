package app

import (
	"context"
	"time"

	"github.com/pingpost/pingpost/internal/postgres"
)

const (
	maintainEvery = time.Hour
	// stepTimeout bounds a step of retention from this side: the server's own time-out
	// does not help when the network between has gone. What is left of a step is
	// done the next hour, and all of them end before it.
	stepTimeout = 6 * time.Minute
	// partitionsAhead are made before they are needed, in days.
	partitionsAhead   = 7
	partitionsTimeout = 30 * time.Second
)

// ensurePartitions makes partitions ahead; the service needs the one of today to start.
func (a *App) ensurePartitions(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, partitionsTimeout)
	defer cancel()
	return a.db.EnsurePingPartitions(ctx, a.clock.Now(), partitionsAhead)
}

// step is a part of retention. It returns how many rows or partitions went.
type step struct {
	name string
	do   func(context.Context) (int64, error)
}

func (a *App) retention(now time.Time) []step {
	return []step{
		{"pings", func(ctx context.Context) (int64, error) {
			return a.db.DropPingPartitions(ctx, now.AddDate(0, 0, -a.cfg.Retention.PingsDays))
		}},
		{"traffic", func(ctx context.Context) (int64, error) {
			return a.db.DeleteTrafficMinutes(ctx, now.AddDate(0, 0, -a.cfg.Retention.TrafficDays))
		}},
		{"body digests", func(ctx context.Context) (int64, error) { return a.leads.DeleteExpiredBodies(ctx, now) }},
		{"sessions", a.staff.DeleteExpired},
		{"files", a.files.DeleteExpired},
		{"exports", a.payouts.DeleteExpiredExports},
		{"ended work", a.queue.DeleteExpired},
		{"discarded reconciliations", a.reconcile.DeleteExpired},
		{"sandbox leads", func(ctx context.Context) (int64, error) { return a.leads.DeleteSandbox(ctx, now) }},
	}
}

func (a *App) retain(ctx context.Context, s step) {
	bounded, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	n, err := s.do(bounded)
	if err != nil && ctx.Err() == nil {
		a.log.Warn("retention is behind and will be tried again", "what", s.name, "error", postgres.Translate(err))
	} else if n > 0 {
		a.log.Info("retention", "what", s.name, "gone", n)
	}
}

// maintainHourly lets go of what may not be kept. Nodes may do it side by side:
// each step takes its own lock or skips rows that another has.
func (a *App) maintainHourly(ctx context.Context) {
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	for {
		for _, s := range a.retention(a.clock.Now()) {
			a.retain(ctx, s)
		}
		a.noteAuditHead(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := a.ensurePartitions(ctx); err != nil && ctx.Err() == nil {
				a.log.Warn("partitions of pings are not made ahead and will be tried again", "error", postgres.Translate(err))
			}
		}
	}
}

// noteAuditHead logs the hash of the last audit event. Kept where the database's
// owner has no hand in it, it shows later whether events were taken off the end
// (pingpost audit verify --head).
func (a *App) noteAuditHead(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	event, head, err := a.audit.Head(bounded)
	switch {
	case err != nil && ctx.Err() == nil:
		a.log.Warn("the head of the audit trail could not be read", "error", postgres.Translate(err))
	case err == nil && head != "":
		a.log.Info("audit trail", "event", event, "head", head)
	}
}
