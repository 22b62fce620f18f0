package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/pingpost/pingpost/bench/benchdata"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/retention"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

const (
	maxRetainingToAlone = 1.1
	// minRetained is a million leads in ten minutes.
	minRetained = 1_000_000.0 / 600
	// retainedDays is shorter than the age of the leads.
	retainedDays = 30
)

// retention measures how fast leads are erased when their retention period has passed, and how much this
// slows down posts.
func (b *bench) retention(ctx context.Context) (err error) {
	p, err := b.stage.newProduct(ctx, "product_retention", productJob{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	db, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := b.fillExpired(ctx, p, db); err != nil {
		return err
	}
	folder := filepath.Join(b.stage.folder, "erasures")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	erasures := erasure.NewService(db, nil, p.keys, journal.Folder(folder), clock.System{}, erasure.Settings{})
	queue := jobs.NewQueue(db, clock.System{}, slog.New(slog.DiscardHandler))
	s := retention.NewService(db, erasures, queue, clock.System{}, retention.Periods{
		Contact: retention.Days{Default: retainedDays},
	})
	plan, err := s.Plan(ctx, 0)
	if err != nil {
		return err
	}
	if err := s.Apply(ctx, plan.Version); err != nil {
		return err
	}
	steady := p.deliverAs(postsJob{Rate: steadyPosts})
	alone := &subject{name: "nothing is erased", process: p.process, run: steady}
	var erased []float64 // per second
	var ended bool
	retaining := &subject{name: "during a retention run", process: p.process, run: func(ctx context.Context, length time.Duration) (r round, err error) {
		var perSecond float64
		r, perSecond, ended, err = retainBeside(ctx, db, s, func() (round, error) { return steady(ctx, length) })
		erased = append(erased, perSecond)
		return r, err
	}}
	for n := 1; n <= b.plan.RetentionRounds; n++ {
		without, err := b.measureWhenIdle(ctx, alone, b.plan.PostRound)
		if err != nil {
			return err
		}
		beside, err := b.measureWhenIdle(ctx, retaining, b.plan.PostRound)
		if err != nil {
			return err
		}
		if ended && n > 1 {
			break // the run ended during this round, so the round does not count
		}
		alone.rounds, retaining.rounds = append(alone.rounds, without), append(retaining.rounds, beside)
		b.progress("retention %d/%d: p99 of posts %.0f µs, during a run %.0f µs; %.0f leads erased per second",
			n, b.plan.RetentionRounds, without.p99(), beside.p99(), erased[len(erased)-1])
	}
	if _, err := s.Run(ctx); err != nil { // the rest
		return err
	}
	if err := p.holds(ctx, int64(b.plan.RetentionLeads), "erased leads", "leads WHERE state = 'erased'"); err != nil {
		return err
	}
	if _, err := erasures.Verify(ctx); err != nil {
		return err
	}
	b.report.retention(alone, retaining, erased[:len(retaining.rounds)])
	return nil
}

// fillExpired adds leads that were received before the retention period.
func (b *bench) fillExpired(ctx context.Context, p *product, db *postgres.DB) error {
	local, err := envelope.NewLocal(p.kek)
	if err != nil {
		return err
	}
	taxonomy, _, _, err := pricingrules.Shipped()
	if err != nil {
		return err
	}
	f := benchdata.Filler{
		DB: db, Keys: p.keys, Wrappers: envelope.NewWrappers(local), Taxonomy: taxonomy,
		Now:        clock.System{}.Now().AddDate(0, 0, -2*retainedDays),
		OnProgress: func(what string, there, of int) { b.progress("retention: %d of %d %s", there, of, what) },
	}
	if err := f.Fill(ctx, benchdata.Plan{Partners: 100, Leads: b.plan.RetentionLeads}); err != nil {
		return fmt.Errorf("filling the tables: %w", err)
	}
	_, err = p.root.Exec(ctx, "VACUUM ANALYZE")
	return err
}

// retainBeside sends posts while leads are erased. The result ended reports whether all leads were erased
// before all posts were sent.
func retainBeside(
	ctx context.Context, db *postgres.DB, s *retention.Service, posts func() (round, error),
) (r round, perSecond float64, ended bool, err error) {
	count := func() (n int64, err error) {
		err = db.Pool.QueryRow(ctx, `SELECT count(*) FROM erasures`).Scan(&n)
		return n, err
	}
	before, err := count()
	if err != nil {
		return r, 0, false, err
	}
	during, stop := context.WithCancel(ctx)
	defer stop()
	result := make(chan error, 1)
	start := clock.System{}.Now()
	go func() {
		_, err := s.Run(during)
		result <- err
	}()
	r, err = posts()
	stop()
	failed := <-result
	elapsed := clock.System{}.Now().Sub(start)
	after, counting := count()
	if err = errors.Join(err, counting); !errors.Is(failed, context.Canceled) && during.Err() == nil {
		err = errors.Join(err, failed)
	}
	return r, float64(after-before) / elapsed.Seconds(), failed == nil, err
}
