package main

import (
	"context"
	"errors"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
)

const (
	maxChangedToUnchanged = 1.25
	// changeInterval is the time from one change of partitions to the next. In production, changes are
	// much rarer.
	changeInterval = time.Second
)

// partitionedTables are the tables to which each lead or payout adds rows.
var partitionedTables = []string{
	"leads", "lead_keys", "consents", "lead_events", "ledger_entries", "payout_run_entries",
}

// partitions measures how much creating and dropping partitions slows down posts. It returns an error
// if an acknowledged post was not stored.
func (b *bench) partitions(ctx context.Context) (err error) {
	p, err := b.stage.newProduct(ctx, "product_partitions", productJob{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	unchanged := &subject{name: "no changes", process: p.process, run: p.deliver}
	var changes []float64 // per second
	changed := &subject{name: "during changes", process: p.process, run: func(ctx context.Context, length time.Duration) (round, error) {
		r, perSecond, err := p.deliverDuringChanges(ctx, length)
		changes = append(changes, perSecond)
		return r, err
	}}
	if err := b.take(ctx, "partitions", b.plan.FineRounds, b.plan.FineRound, unchanged, changed); err != nil {
		return err
	}
	if err := checkLeads(ctx, p.database, unchanged.acknowledged+changed.acknowledged); err != nil {
		return err
	}
	b.report.partitions(unchanged, changed, changes)
	return nil
}

// deliverDuringChanges sends posts while it creates and drops partitions, once per changeInterval. The
// result perSecond is the number of partitions that were created and dropped per second.
func (p *product) deliverDuringChanges(
	ctx context.Context, length time.Duration,
) (r round, perSecond float64, err error) {
	stop := make(chan struct{})
	changed := make(chan error, 1)
	start := clock.System{}.Now()
	go func() {
		next := time.NewTicker(changeInterval)
		defer next.Stop()
		for {
			if err := p.changePartitions(ctx); err != nil {
				changed <- err
				return
			}
			perSecond += float64(len(partitionedTables))
			select {
			case <-stop:
				changed <- nil
				return
			case <-next.C:
			}
		}
	}()
	r, err = p.deliver(ctx, length)
	close(stop)
	err = errors.Join(err, <-changed)
	return r, perSecond / clock.System{}.Now().Sub(start).Seconds(), err
}

// changePartitions creates a partition of each table, and then detaches and drops it. In production,
// nodes create partitions once a month, and operators who archive old leads detach and drop them.
func (p *product) changePartitions(ctx context.Context) error {
	if _, err := p.root.Exec(ctx, `SELECT create_partitions($1, 'month', '2100-01-01', '2100-01-01')`,
		partitionedTables); err != nil {
		return err
	}
	for _, table := range partitionedTables {
		for _, sql := range []string{
			`ALTER TABLE ` + table + ` DETACH PARTITION ` + table + `_21000101 CONCURRENTLY`,
			`DROP TABLE ` + table + `_21000101`,
		} {
			if _, err := p.root.Exec(ctx, sql); err != nil {
				return err
			}
		}
	}
	return nil
}
