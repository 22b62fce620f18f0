package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pingpost/pingpost/bench/load"
	"github.com/pingpost/pingpost/internal/clock"
)

const (
	// overloadFactor is the ratio of the rate under overload to the highest rate.
	overloadFactor     = 10
	minGoodput         = 0.8
	maxRecoverySeconds = 10
	// overloadConnections is the number of connections for the slow database. It is more than the service
	// handles and lets wait.
	overloadConnections = 2048
	// slowTransaction is the delay of each transaction in the slow database. With it, the machine can send
	// ten times as many posts as the database can store.
	slowTransaction = 500 * time.Millisecond
	makeSlow        = `CREATE FUNCTION bench_slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(%f); RETURN NULL; END $$;
		CREATE TRIGGER bench_slow AFTER INSERT ON consents FOR EACH STATEMENT EXECUTE FUNCTION bench_slow()`
)

// overload sends ten times as many posts as are stored at the highest rate, and then as many
// as usual.
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

// overloadTest is a test of the service under overload.
type overloadTest struct {
	*product
	name        string
	steady      int // posts per second at the normal rate
	best        int // connections at the highest rate
	connections int // connections under overload
}

// press measures the service at the highest rate, under overload and afterwards.
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
	var recoveries []float64
	normal := time.Duration(quantile(usual.series(round.p99), 4)) * time.Microsecond
	for range b.plan.PostRounds {
		r, err := b.measureWhenIdle(ctx, pressed, length)
		if err != nil {
			return err
		}
		pressed.rounds = append(pressed.rounds, r)
		recovery, err := b.recover(ctx, usual, normal)
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

// recover waits until the 99th percentile of a second's posts is at most a quarter higher than normal. It
// returns how long that took.
func (b *bench) recover(ctx context.Context, usual *subject, normal time.Duration) (time.Duration, error) {
	start := clock.System{}.Now()
	for {
		r, err := usual.turn(ctx, time.Second)
		after := clock.System{}.Now().Sub(start)
		if err != nil || r.P99 <= normal*5/4 || after > 2*maxRecoverySeconds*time.Second {
			return after, err
		}
	}
}
