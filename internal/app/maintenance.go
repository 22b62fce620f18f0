package app

import (
	"context"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/failurelog"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

const (
	maintainEvery = time.Hour
	// stepTimeout limits one step of the maintenance, because the statement timeout of the database has no effect
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

// every calls the function do until ctx ends. It pauses after each call that fails or that returns
// false, which means that no work is left. It logs failures as failurelog.State decides.
func (a *App) every(ctx context.Context, pause time.Duration, what string, do func(context.Context) (bool, error)) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	var failure failurelog.State
	for {
		more, err := do(ctx)
		switch err = postgres.Translate(err); {
		case err == nil:
			failure.End()
			if more {
				continue
			}
		case ctx.Err() == nil && failure.Due(err.Error(), clock.System{}.Now()):
			a.log.Error(what+" failed, retrying", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// maintainHourly deletes expired data every hour. All nodes run it, so each step either takes a lock or
// skips the rows that another node has locked.
func (a *App) maintainHourly(ctx context.Context) {
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	for {
		for _, s := range a.expirySteps(a.clock.Now()) {
			a.deleteExpired(ctx, s)
		}
		a.analyzePartitions(ctx)
		a.checkLeads(ctx)
		a.noteAuditHead(ctx)
		a.verifyAudit(ctx)
		a.countDue(ctx)
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
