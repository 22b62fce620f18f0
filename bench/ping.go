package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pingpost/pingpost/bench/child"
)

const (
	minPingToBare    = 0.85
	minPingToGorm    = 5.5
	maxPingCPUToBare = 1.25
	maxPingP99ToBare = 1.25
	// steadyPings is the rate, in pings per second, at which response times are measured.
	steadyPings = 10_000
)

// pings measures pings to the product, to a bare handler, and to a handler that stores each ping with
// GORM.
func (b *bench) pings(ctx context.Context) (err error) {
	p, err := b.stage.newProduct(ctx, "product_pings", productJob{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	plain, err := b.plainPings(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plain.close()) }()
	product := p.pinged(0)
	bare, gorm, tuned := &subject{name: "bare"}, &subject{name: "gorm"}, &subject{name: "gorm without transaction"}
	defer func() { err = errors.Join(err, bare.stop(), gorm.stop(), tuned.stop()) }()
	if err := errors.Join(
		bare.serve(ctx, roleBare, nil),
		gorm.serve(ctx, roleGormPing, gormPingJob{URL: plain.appURL}),
		tuned.serve(ctx, roleGormPing, gormPingJob{URL: plain.appURL, SkipTransaction: true}),
	); err != nil {
		return err
	}
	if err := b.take(ctx, "ping", b.plan.PingRounds, b.plan.PingRound, product, bare, gorm, tuned); err != nil {
		return err
	}
	if err := b.profile(ctx, p.at.Profile, "ping", product); err != nil {
		return err
	}
	steady := [2]*subject{p.pinged(steadyPings), bare.at(steadyPings)}
	if err := b.take(ctx, "steady pings", b.plan.FineRounds, b.plan.FineRound, steady[:]...); err != nil {
		return err
	}
	if err := checkPings(ctx, p.database, p.at.Ops, p.answered); err != nil {
		return err
	}
	if err := plain.holds(ctx, gorm.acknowledged+tuned.acknowledged, "pings", "plain_pings"); err != nil {
		return err
	}
	b.report.pings(product, bare, gorm, tuned)
	b.report.steadyPings(steady[0], steady[1])
	return nil
}

// plainPings creates the database for the handlers that store pings with GORM.
func (b *bench) plainPings(ctx context.Context) (*database, error) {
	d, err := b.stage.newDatabase(ctx, "gorm_pings")
	if err != nil {
		return nil, err
	}
	if _, err = d.root.Exec(ctx, makePlainPings); err == nil {
		err = d.durable(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// pinged returns a contender that sends pings to the product. It sends them at the given rate per
// second, or as fast as possible if the rate is 0. A turn includes waiting until all pings are recorded.
func (p *product) pinged(rate int) *subject {
	return &subject{
		name:    "product",
		process: p.process,
		run: func(ctx context.Context, length time.Duration) (round, error) {
			r, err := sendPings(ctx, pingsJob{Address: p.at.Address, For: length, Rate: rate})
			if err != nil {
				return r, err
			}
			p.answered += r.Count
			return r, awaitRecorded(ctx, p.at.Ops, p.answered)
		},
	}
}

// serve starts a baseline's server in a child process with the given role.
func (c *subject) serve(ctx context.Context, role string, job any) (err error) {
	if c.process, err = child.Start(ctx, role, job); err != nil {
		return err
	}
	err = c.process.Receive(&c.listening)
	c.run = c.at(0).run
	return err
}

// at returns a contender that sends pings to the server of this contender. It sends them at the given
// rate per second, or as fast as possible if the rate is 0.
func (c *subject) at(rate int) *subject {
	return &subject{
		name:    c.name,
		process: c.process,
		run: func(ctx context.Context, length time.Duration) (round, error) {
			return sendPings(ctx, pingsJob{Address: c.listening.Address, For: length, Rate: rate})
		},
	}
}

func (c *subject) stop() error {
	if c.process == nil {
		return nil
	}
	return c.process.Stop()
}

func sendPings(ctx context.Context, job pingsJob) (round, error) {
	job.Slug = partnerSlug
	return runLoad(ctx, rolePings, job)
}

// runLoad starts a load process and waits for its result. It returns an error if the server rejects a
// request.
func runLoad(ctx context.Context, role string, job any) (round, error) {
	return runRejected(ctx, role, job, 0)
}

// runRejected is like runLoad, but allows the server to reject up to the given share of the requests.
func runRejected(ctx context.Context, role string, job any, share float64) (round, error) {
	process, err := child.Start(ctx, role, job)
	if err != nil {
		return round{}, err
	}
	var said loadResult
	err = process.Receive(&said)
	r := round{
		Count:     said.Acknowledged,
		Elapsed:   said.Elapsed,
		Load:      said.CPU,
		P99:       said.P99,
		Rejected:  said.Rejected,
		Rejection: said.RejectedP99,
	}
	if err = errors.Join(err, process.Stop()); err != nil {
		return r, err
	}
	switch {
	case float64(said.Rejected) > share*float64(said.Rejected+said.Acknowledged):
		err = fmt.Errorf("%d of %d requests were rejected, the first with\n%s", said.Rejected,
			said.Rejected+said.Acknowledged, said.Rejection)
	case said.Acknowledged+said.Rejected == 0:
		err = errors.New("no request was answered")
	}
	return r, err
}

func seconds(length time.Duration) int { return max(1, int(length.Round(time.Second)/time.Second)) }
