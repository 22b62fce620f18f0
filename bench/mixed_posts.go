package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/pingpost/pingpost/bench/sample"
)

const (
	minAgainToPlain   = 0.85
	minBadToPlain     = 0.5
	maxSharedToSingle = 1.25

	againShare = 0.05
	badShare   = 0.01
	// steadyPosts is the rate, in posts per second, at which response times are measured.
	steadyPosts = 1000
)

// mixedPosts measures three loads: posts with some replays, posts with some rows that the database
// rejects, and posts at a fixed rate.
func (b *bench) mixedPosts(ctx context.Context, p *product) error {
	var before int64
	if err := p.root.QueryRow(ctx, `SELECT count(*) FROM leads`).Scan(&before); err != nil {
		return err
	}
	// Make the database reject these posts' rows although the service considers the posts valid, as if
	// the service had a bug.
	if _, err := p.root.Exec(ctx, fmt.Sprintf(`ALTER TABLE leads ADD CONSTRAINT bench_bad CHECK (postcode <> '%s') NOT VALID`, sample.BadPostcode)); err != nil {
		return err
	}
	plain := &subject{name: "plain", process: p.process, run: p.deliver}
	again := &subject{name: "retries", process: p.process, run: p.deliverAs(postsJob{Again: againShare})}
	bad := &subject{name: "bad rows", process: p.process, run: p.deliverAs(postsJob{Bad: badShare})}
	if err := b.take(ctx, "mixes", b.plan.FineRounds, b.plan.FineRound, plain, again, bad); err != nil {
		return err
	}
	steady, single, err := b.steadyPosts(ctx, p)
	if err != nil {
		return err
	}
	var stored, whole int64
	if err := p.root.QueryRow(ctx, `SELECT count(*), count(c.lead_id) FROM leads l LEFT JOIN consents c ON c.lead_id = l.id`).Scan(&stored, &whole); err != nil {
		return err
	}
	once := plain.acknowledged + bad.acknowledged + steady.acknowledged
	repeats := once + again.acknowledged - (stored - before)
	if whole != stored || repeats < 0 || float64(repeats) > 2*againShare*float64(again.acknowledged) {
		return fmt.Errorf("%d posts were acknowledged without replays and %d with replays, but %d leads are stored, %d of them completely",
			once, again.acknowledged, stored-before, whole)
	}
	b.report.mixedPosts(plain, again, bad, steady, single)
	return nil
}

// steadyPosts sends posts at a fixed rate to two services. In one, posts share database transactions.
// In the other, each post has its own. The comparison shows whether sharing transactions delays posts.
func (b *bench) steadyPosts(ctx context.Context, p *product) (shared, single *subject, err error) {
	other, err := b.stage.newProduct(ctx, "product_singles", productJob{SinglePosts: true})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, other.stop()) }()
	shared = &subject{name: "shared transactions", process: p.process, run: p.deliverAs(postsJob{Rate: steadyPosts})}
	single = &subject{
		name:    "single transactions",
		process: other.process,
		run:     other.deliverAs(postsJob{Rate: steadyPosts}),
	}
	return shared, single, b.take(ctx, "steady posts", b.plan.PostRounds, b.plan.PostRound, shared, single)
}
