package app

import (
	"context"
	"time"

	"github.com/pingpost/pingpost/internal/store"
)

const (
	maintainEvery = time.Hour
	// partitionsAhead are made before they are needed, in days.
	partitionsAhead = 7
)

// ensurePartitions makes partitions ahead; the service needs the one of today to start.
func (a *App) ensurePartitions(ctx context.Context) error {
	return a.db.EnsurePingPartitions(ctx, a.clock.Now(), partitionsAhead)
}

// maintainHourly lets go of what may not be kept. Nodes may do it side by side:
// each step takes its own lock or skips rows that another has.
func (a *App) maintainHourly(ctx context.Context) {
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	for {
		now := a.clock.Now()
		for _, step := range []struct {
			name string
			do   func() (int64, error)
		}{
			{"pings", func() (int64, error) {
				return a.db.DropPingPartitions(ctx, now.AddDate(0, 0, -a.cfg.Retention.PingsDays))
			}},
			{"traffic", func() (int64, error) {
				return a.db.DeleteTraffic(ctx, now.AddDate(0, 0, -a.cfg.Retention.TrafficDays))
			}},
			{"body digests", func() (int64, error) { return a.leads.ForgetBodies(ctx, now) }},
			{"sandbox leads", func() (int64, error) { return a.leads.DeleteSandbox(ctx, now) }},
		} {
			n, err := step.do()
			if err != nil && ctx.Err() == nil {
				a.log.Warn("retention is behind and will be tried again", "what", step.name, "error", store.Translate(err))
			} else if n > 0 {
				a.log.Info("retention", "what", step.name, "gone", n)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := a.ensurePartitions(ctx); err != nil && ctx.Err() == nil {
				a.log.Warn("partitions of pings are not made ahead and will be tried again", "error", store.Translate(err))
			}
		}
	}
}
