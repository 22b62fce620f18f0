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
)

// pings measures the product against a bare handler and a handler that stores
// each ping with GORM.
func (b *bench) pings(ctx context.Context) (err error) {
	p, err := b.stage.newProduct(ctx, "product_pings", vaultLogin{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	plain, err := b.plainPings(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plain.close()) }()
	product := p.pinged()
	bare, gorm, tuned := &contender{name: "bare"}, &contender{name: "gorm"}, &contender{name: "gorm without transaction"}
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
	if err := b.profile(ctx, p.at.Ops, "ping", product); err != nil {
		return err
	}
	if err := checkPings(ctx, p.database, p.at.Ops, product.acknowledged); err != nil {
		return err
	}
	if err := plain.holds(ctx, gorm.acknowledged+tuned.acknowledged, "pings", "plain_pings"); err != nil {
		return err
	}
	b.report.pings(product, bare, gorm, tuned)
	return nil
}

// plainPings is the database of the handler that stores with GORM.
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

// pinged is the product as one that answers pings. What it records late is part
// of its turn.
func (p *product) pinged() *contender {
	c := &contender{name: "product", process: p.process}
	c.run = func(ctx context.Context, length time.Duration) (round, error) {
		r, err := sendPings(ctx, pingsJob{Address: p.at.Address, For: length})
		if err != nil {
			return r, err
		}
		return r, awaitRecorded(ctx, p.at.Ops, c.acknowledged+r.Count)
	}
	return c
}

// serve starts a baseline's server.
func (c *contender) serve(ctx context.Context, role string, job any) (err error) {
	if c.process, err = child.Start(ctx, role, job); err != nil {
		return err
	}
	var at listening
	err = c.process.Receive(&at)
	c.run = func(ctx context.Context, length time.Duration) (round, error) {
		return sendPings(ctx, pingsJob{Address: at.Address, For: length})
	}
	return err
}

func (c *contender) stop() error {
	if c.process == nil {
		return nil
	}
	return c.process.Stop()
}

func sendPings(ctx context.Context, job pingsJob) (round, error) {
	job.Slug = partnerSlug
	return runLoad(ctx, rolePings, job)
}

// runLoad runs a load process to its end. A server that refuses spoils a
// measurement.
func runLoad(ctx context.Context, role string, job any) (round, error) {
	process, err := child.Start(ctx, role, job)
	if err != nil {
		return round{}, err
	}
	var said loadResult
	err = process.Receive(&said)
	r := round{Count: said.Acknowledged, Elapsed: said.Elapsed, Load: said.CPU}
	if err = errors.Join(err, process.Stop()); err != nil {
		return r, err
	}
	switch {
	case said.Refused > 0:
		err = fmt.Errorf("%d of %d requests were refused, the first with\n%s", said.Refused, said.Refused+said.Acknowledged, said.Refusal)
	case said.Acknowledged == 0:
		err = errors.New("no request was answered")
	}
	return r, err
}

// seconds is a length in whole seconds, at least one.
func seconds(length time.Duration) int { return max(1, int(length.Round(time.Second)/time.Second)) }
