package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pingpost/pingpost/bench/load"
	"github.com/pingpost/pingpost/internal/base/clock"
)

const (
	// overloadFactor is the rate of posts under overload, divided by the highest rate at which the
	// service can store them.
	overloadFactor     = 10
	minGoodput         = 0.8
	maxRecoverySeconds = 10
	// overloadConnections is the number of connections to the service while the database is slow. It
	// exceeds the number of posts that the service processes or queues at the same time.
	overloadConnections = 2048
	// slowTransaction is the delay of each transaction in the slow database. It is so long that the
	// machine can send ten times as many posts as the database can store.
	slowTransaction = 500 * time.Millisecond
	makeSlow        = `CREATE FUNCTION bench_slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(%f); RETURN NULL; END $$;
		CREATE TRIGGER bench_slow AFTER INSERT ON consents FOR EACH STATEMENT EXECUTE FUNCTION bench_slow()`
)

// overload measures the service while it receives ten times as many posts as it can store. It also
// measures how long the service takes to recover afterwards. It repeats the test with a slow database.
func (b *bench) overload(ctx context.Context) (err error) {
	p, err := b.stage.newProduct(ctx, "product_overload", productJob{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	fast := overloadTest{
		product:     p,
		name:        "normal database",
		steady:      steadyPosts,
		connections: overloadFactor * load.Connections,
		best:        load.Connections,
	}
	if err := b.press(ctx, fast); err != nil {
		return err
	}
	if _, err := p.root.Exec(ctx, fmt.Sprintf(makeSlow, slowTransaction.Seconds())); err != nil {
		return err
	}
	return b.press(ctx, overloadTest{
		product:     p,
		name:        "slow database",
		steady:      50,
		connections: overloadConnections,
		best:        4 * load.Connections,
	})
}

type overloadTest struct {
	*product
	name        string
	steady      int // posts per second at the normal rate
	best        int // connections for measuring the highest rate
	connections int // connections under overload
}

// press measures the service at its highest rate, under overload, and after the overload has ended.
func (b *bench) press(ctx context.Context, p overloadTest) error {
	length := b.plan.PostRound
	greatest := &subject{name: "highest rate", process: p.process, run: p.deliverAs(postsJob{Connections: p.best})}
	usual := &subject{name: "normal rate", process: p.process, run: p.deliverAs(postsJob{Rate: p.steady})}
	if err := b.take(ctx, "overload, "+p.name, b.plan.PostRounds, length, greatest, usual); err != nil {
		return err
	}
	rate := overloadFactor * int(quantile(greatest.series(round.rate), 2))
	pressed := &subject{
		name:    "ten times the highest rate",
		process: p.process,
		run:     p.deliverAs(postsJob{Rate: rate, Connections: p.connections, Shed: true}),
	}
	recovering := &subject{process: p.process, run: p.deliverAs(postsJob{Rate: p.steady, Shed: true})}
	var recoveries []float64
	normal := time.Duration(quantile(usual.series(round.p99), 4)) * time.Microsecond
	for range b.plan.PostRounds {
		r, err := b.measureWhenIdle(ctx, pressed, length)
		if err != nil {
			return err
		}
		pressed.rounds = append(pressed.rounds, r)
		recovery, err := b.recover(ctx, recovering, normal)
		if err != nil {
			return err
		}
		recoveries = append(recoveries, recovery.Seconds())
		b.progress("overload, %s: %.0f per second answered, %.0f stored; rejections within %s; normal again after %s",
			p.name, r.answered(), r.rate(), r.Rejection.Round(time.Microsecond), recovery.Round(time.Millisecond))
	}
	b.report.overload(p.name, greatest, pressed, recoveries)
	return nil
}

// recover sends posts at the normal rate until none is rejected and the 99th percentile of their response
// times is at most a quarter above normal. It returns how long that took, and gives up after twice the target time.
func (b *bench) recover(ctx context.Context, posts *subject, normal time.Duration) (time.Duration, error) {
	start := clock.System{}.Now()
	for {
		r, err := posts.turn(ctx, time.Second)
		after := clock.System{}.Now().Sub(start)
		if err != nil || r.Rejected == 0 && r.P99 <= normal*5/4 || after > 2*maxRecoverySeconds*time.Second {
			return after, err
		}
	}
}
