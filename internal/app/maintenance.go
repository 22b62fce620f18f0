package app

import (
	"context"
	"time"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

const (
	maintainEvery = time.Hour
	// stepTimeout limits one retention step, because the statement timeout of the database has no effect
	// if the network fails. The next hourly run continues an interrupted step.
	stepTimeout       = 5 * time.Minute
	partitionsTimeout = 30 * time.Second

	disclosuresEvery   = time.Minute
	disclosuresTimeout = 50 * time.Second

	rejectionsEvery = time.Minute
)

// ensurePartitions creates the table partitions for today and the coming days. A node cannot start
// without today's partitions.
func (a *App) ensurePartitions(ctx context.Context) error {
	return a.db.EnsurePartitions(ctx, a.clock.Now(), postgres.PartitionUnit(a.cfg.Database.LeadPartitions))
}

// ensurePingPartitions creates the table partitions for the pings of today and the coming days. The
// recorder calls it if a partition is missing.
func (a *App) ensurePingPartitions(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, partitionsTimeout)
	defer cancel()
	return a.db.EnsurePingPartitions(ctx, a.clock.Now(), postgres.PingDaysAhead)
}

// step deletes one type of expired data. The function do returns the number of deleted rows or
// partitions.
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

func (a *App) retain(ctx context.Context, s step) {
	bounded, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	n, err := s.do(bounded)
	if err != nil && ctx.Err() == nil {
		a.log.Warn("cannot run retention, retrying in an hour", "what", s.name, "error", postgres.Translate(err))
	} else if n > 0 {
		a.log.Info("retention", "what", s.name, "gone", n)
	}
}

// maintainHourly deletes expired data every hour. All nodes run it, so each step either takes a lock or
// skips the rows that another node has locked.
func (a *App) maintainHourly(ctx context.Context) {
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	for {
		for _, s := range a.retention(a.clock.Now()) {
			a.retain(ctx, s)
		}
		a.analyzePartitions(ctx)
		a.checkLeads(ctx)
		a.noteAuditHead(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			a.ensurePartitionsHourly(ctx)
		}
	}
}

func (a *App) ensurePartitionsHourly(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	if err := a.ensurePartitions(bounded); err != nil && ctx.Err() == nil {
		a.log.Warn("cannot create partitions, retrying in an hour", "error", postgres.Translate(err))
	}
}

func (a *App) analyzePartitions(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	if _, err := a.db.AnalyzePartitions(bounded); err != nil && ctx.Err() == nil {
		a.log.Warn("cannot collect statistics about partitioned tables, retrying in an hour", "error",
			postgres.Translate(err))
	}
}

// checkLeads checks stored leads for missing rows, and logs an error if it finds any.
func (a *App) checkLeads(ctx context.Context) {
	for ctx.Err() == nil {
		bounded, cancel := context.WithTimeout(ctx, stepTimeout)
		found, checked, err := a.leads.CheckNext(bounded, a.clock.Now())
		cancel()
		if err != nil && ctx.Err() == nil {
			a.log.Warn("cannot check leads for missing rows, retrying in an hour", "error", postgres.Translate(err))
		}
		if err != nil || !checked {
			return
		}
		if len(found) > 0 {
			a.incomplete.Add(int64(len(found)))
			a.log.Error("leads have missing rows; compare them with a backup", "leads", len(found), "first",
				id.Format(id.Lead, found[0]))
		}
	}
}

// noteAuditHead logs the hash of the newest audit event. With this hash, `pingpost audit verify --head`
// can detect that the newest events were removed.
func (a *App) noteAuditHead(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	event, head, err := a.audit.Head(bounded)
	switch {
	case err != nil && ctx.Err() == nil:
		a.log.Warn("cannot read the head of the audit log", "error", postgres.Translate(err))
	case err == nil && head != "":
		a.log.Info("audit log", "event", event, "head", head)
	}
}

// markDisclosures marks the disclosure texts that have become standard, every minute.
func (a *App) markDisclosures(ctx context.Context) {
	a.every(ctx, disclosuresEvery, "marking standard disclosure texts", func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, disclosuresTimeout)
		defer cancel()
		return false, a.leads.MarkStandardDisclosures(ctx, a.clock.Now())
	})
}

// recordRejections records the number of rejections that had no audit event of their own, every minute.
func (a *App) recordRejections(ctx context.Context) {
	a.every(ctx, rejectionsEvery, "recording repeated rejections", func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, stepTimeout)
		defer cancel()
		_, err := a.audit.LogRejectionCounts(ctx)
		return false, err
	})
}
