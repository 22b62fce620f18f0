package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/pingpost/pingpost/bench/child"
	"github.com/pingpost/pingpost/bench/load"
)

const (
	pgbenchAtBest = "pgbench at its best"
	productAtBest = "product at its best"
	gormAtBest    = "GORM at its best"

	minPostToPgbench = 3.0
	minPostToBest    = 2.2
	minPostToGorm    = 4.0
	// fastestPosts is the number of posts to prepare for each second of a round if there is no fixed
	// rate.
	fastestPosts = 8000
)

// posts compares the product, which receives posts over HTTP, with pgbench and GORM, which only store
// the same rows.
func (b *bench) posts(ctx context.Context) (err error) {
	p, err := b.stage.newProduct(ctx, "product_posts", productJob{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if err := p.durable(ctx); err != nil {
		return err
	}
	product := &subject{name: "product", process: p.process, run: p.deliver}
	// Before the measurement, store some leads, because the baselines use the average sizes of the
	// product's rows.
	if _, err := product.turn(ctx, b.plan.PostRound); err != nil {
		return err
	}
	if err := p.root.QueryRow(ctx, readRowSizes).Scan(b.report.rows.fields()...); err != nil {
		return fmt.Errorf("reading the size of the product's rows: %w", err)
	}
	all, databases := []*subject{product}, []*database{p.database}
	for _, prepare := range []func(context.Context, *database, rowSizes) (*subject, error){b.pgbench, b.bestPgbench, b.gorm, b.bestGorm} {
		d, err := b.stage.newDatabase(ctx, fmt.Sprintf("baseline_%d", len(databases)))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.close()) }()
		c, err := prepare(ctx, d, b.report.rows)
		if errors.Is(err, exec.ErrNotFound) {
			b.progress("post: pgbench is not installed and is skipped")
			continue
		}
		if err != nil {
			return err
		}
		all, databases = append(all, c), append(databases, d)
	}
	v, err := b.newVaulted(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.stop()) }()
	all = append(all, v.contender("vault", v.deliver))
	databases = append(databases, v.database)
	best, err := b.best(ctx, []int{64, 128, 256}, func(n int) (*subject, error) {
		return &subject{name: productAtBest, process: p.process, run: p.deliverAs(postsJob{Connections: n})}, nil
	})
	if err != nil {
		return err
	}
	if err := b.take(ctx, "post", b.plan.PostRounds, b.plan.PostRound, append([]*subject{best}, all...)...); err != nil {
		return err
	}
	product.acknowledged += best.acknowledged // both contenders stored their leads in this database
	if err := b.profile(ctx, p.at.Profile, "post", product); err != nil {
		return err
	}
	for i, c := range all {
		if err := checkLeads(ctx, databases[i], c.acknowledged); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	b.report.posts(append(all, best))
	if err := b.mixedPosts(ctx, p); err != nil {
		return err
	}
	return b.rewraps(ctx, v)
}

// deliver sends posts to the product. The load process creates and signs them before the measurement.
func (p *product) deliver(ctx context.Context, length time.Duration) (round, error) {
	return p.deliverAs(postsJob{})(ctx, length)
}

// deliverAs is like deliver, but with the options in job.
func (p *product) deliverAs(job postsJob) func(context.Context, time.Duration) (round, error) {
	return func(ctx context.Context, length time.Duration) (round, error) {
		job.Address, job.Partner, job.QuoteKeys = p.at.Address, p.partner, p.keys.QuoteKeys()
		job.For, job.Count = length, int(float64(cmp.Or(job.Rate, p.fastestPosts))*length.Seconds())
		mayReject := 2 * job.Bad
		if job.Shed {
			mayReject = 1
		}
		return runRejected(ctx, rolePosts, job, mayReject)
	}
}

// gorm returns a contender that uses GORM to store the same rows as the product. It opens as many
// connections as the load generator.
func (b *bench) gorm(_ context.Context, d *database, rows rowSizes) (*subject, error) {
	return gormWith(d, rows, "gorm", load.Connections), nil
}

// bestGorm returns GORM as a contender, with the number of connections at which it is fastest.
func (b *bench) bestGorm(ctx context.Context, d *database, rows rowSizes) (*subject, error) {
	return b.best(ctx, []int{8, 16, 32, 64, 128}, func(connections int) (*subject, error) {
		return gormWith(d, rows, gormAtBest, connections), nil
	})
}

// gormWith returns a contender that stores each lead with five Creates in one GORM transaction.
func gormWith(d *database, rows rowSizes, name string, connections int) *subject {
	return &subject{name: name, run: func(ctx context.Context, length time.Duration) (r round, err error) {
		process, err := child.Start(ctx, roleGormPost, gormPostJob{
			URL:         d.appURL,
			Rows:        rows,
			For:         length,
			Connections: connections,
		})
		if err != nil {
			return r, err
		}
		err = process.Receive(&r)
		return r, errors.Join(err, process.Stop())
	}}
}
