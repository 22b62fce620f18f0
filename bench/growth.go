package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/bench/benchdata"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

const (
	minFullToEmpty = 0.95
	maxListMillis  = 50
)

// growth compares the rates of pings and posts on full tables with those on empty tables. It also
// measures the lists and searches of leads on full tables.
func (b *bench) growth(ctx context.Context) (err error) {
	var all [2]*product
	for i, name := range []string{"product_full", "product_empty"} {
		if all[i], err = b.stage.newProduct(ctx, name, productJob{}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, all[i].stop()) }()
	}
	full, empty := all[0], all[1]
	if err := b.fillTables(ctx, full); err != nil {
		return err
	}
	pings := [2]*subject{full.pinged(0), empty.pinged(0)}
	pings[0].name, pings[1].name = "full tables", "empty tables"
	if err := b.take(ctx, "growth, ping", b.plan.FineRounds, b.plan.FineRound, pings[:]...); err != nil {
		return err
	}
	posts := [2]*subject{
		{name: "full tables", process: full.process, run: full.deliver},
		{name: "empty tables", process: empty.process, run: empty.deliver},
	}
	if err := b.take(ctx, "growth, post", b.plan.FineRounds, b.plan.FineRound, posts[:]...); err != nil {
		return err
	}
	db, err := full.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	reader := leads.NewReader(db, full.keys, clock.System{})
	lists, err := b.lists(ctx, db, reader)
	if err != nil {
		return err
	}
	searches, err := b.searches(ctx, reader)
	if err != nil {
		return err
	}
	b.report.growth(pings, posts, lists, searches)
	return nil
}

// searches looks in all partitions for leads that do not exist. It returns the time of the slowest
// search in each round.
func (b *bench) searches(ctx context.Context, reader *leads.Reader) (millis []float64, err error) {
	now := clock.System{}.Now()
	return b.slowest([]func() error{
		func() error { _, err := reader.FindEmail(ctx, scope.System, "nobody@example.com"); return err },
		func() error { _, err := reader.FindPhone(ctx, scope.System, "+442079460000", ""); return err },
		func() error {
			_, err := reader.FindRequest(ctx, scope.System, id.New(now.AddDate(0, 0, -1)))
			if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
				return nil
			}
			return err
		},
	})
}

// slowest runs all functions in each round, and returns the longest time of each round.
func (b *bench) slowest(all []func() error) (millis []float64, err error) {
	for range b.plan.FineRounds {
		var slowest time.Duration
		for _, measurement := range all {
			began := clock.System{}.Now()
			if err := measurement(); err != nil {
				return nil, err
			}
			slowest = max(slowest, clock.System{}.Now().Sub(began))
		}
		millis = append(millis, float64(slowest.Microseconds())/1e3)
	}
	return millis, nil
}

// lists measures how long the console's list of leads takes to load one page with each filter. It
// returns the time of the slowest filter in each round.
func (b *bench) lists(ctx context.Context, db *postgres.DB, reader *leads.Reader) (millis []float64, err error) {
	var busiest uuid.UUID
	if err := db.Pool.QueryRow(ctx, `SELECT partner_id FROM leads GROUP BY 1 ORDER BY count(*) DESC LIMIT 1`).Scan(&busiest); err != nil {
		return nil, err
	}
	first := clock.System{}.Now().AddDate(0, -b.plan.Growth.Months, 0)
	var queries []leads.Query
	for _, partner := range []uuid.UUID{uuid.Nil, busiest, uuid.Max} { // the last one has no leads
		queries = append(queries, leads.Query{Partner: partner}, leads.Query{Partner: partner, Account: uuid.Max},
			leads.Query{Partner: partner, Industry: "none"}, leads.Query{Partner: partner, Country: "ZZ"},
			leads.Query{Partner: partner, To: first.AddDate(0, 0, 1)}, leads.Query{Partner: partner, From: first, To: first.AddDate(1, 0, 0)})
		for _, state := range []string{leads.StateDelivered, leads.StateReturned, leads.StateErased, leads.StateSandbox} {
			queries = append(queries, leads.Query{Partner: partner, State: state}, leads.Query{
				Partner:  partner,
				State:    state,
				Industry: "none",
			})
		}
	}
	var all []func() error
	for _, q := range queries {
		q.Size = 50
		all = append(all, func() error { _, err := reader.List(ctx, scope.System, q); return err })
	}
	return b.slowest(all)
}

// fillTables adds as many rows as a platform has after years of use.
func (b *bench) fillTables(ctx context.Context, p *product) error {
	db, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	taxonomy, _, _, err := pricingrules.Shipped()
	if err != nil {
		return err
	}
	local, err := envelope.NewLocal(p.kek)
	if err != nil {
		return err
	}
	f := benchdata.Filler{
		DB:         db,
		Keys:       p.keys,
		Wrappers:   envelope.NewWrappers(local),
		Taxonomy:   taxonomy,
		Now:        clock.System{}.Now(),
		OnProgress: func(string, int, int) {},
	}
	b.progress("growth: filling tables with %s partners, %s leads and %s pings", grouped(int64(b.plan.Growth.Partners)),
		grouped(int64(b.plan.Growth.Leads)), grouped(int64(b.plan.Growth.Pings)))
	if err := f.Fill(ctx, b.plan.Growth); err != nil {
		return fmt.Errorf("filling tables: %w", err)
	}
	_, err = p.root.Exec(ctx, "VACUUM (ANALYZE)")
	return err
}
