package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/pingpost/pingpost/internal/benchdata"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/envelope"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

const minFullToEmpty = 0.95

// growth measures ping and post on tables that are full against empty ones.
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
	pings := [2]*contender{full.pinged(0), empty.pinged(0)}
	pings[0].name, pings[1].name = "full tables", "empty tables"
	if err := b.take(ctx, "growth, ping", b.plan.FineRounds, b.plan.FineRound, pings[:]...); err != nil {
		return err
	}
	posts := [2]*contender{
		{name: "full tables", process: full.process, run: full.deliver},
		{name: "empty tables", process: empty.process, run: empty.deliver},
	}
	if err := b.take(ctx, "growth, post", b.plan.FineRounds, b.plan.FineRound, posts[:]...); err != nil {
		return err
	}
	b.report.growth(pings, posts)
	return nil
}

// fillTables makes a database one of some years.
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
	f := benchdata.Filler{DB: db, Keys: p.keys, Wrappers: envelope.NewWrappers(local), Taxonomy: taxonomy, Now: clock.System{}.Now(), Tell: func(string, int, int) {}}
	b.progress("growth: filling tables with %s partners, %s leads, %s pings", grouped(int64(b.plan.Growth.Partners)), grouped(int64(b.plan.Growth.Leads)), grouped(int64(b.plan.Growth.Pings)))
	if err := f.Fill(ctx, b.plan.Growth); err != nil {
		return fmt.Errorf("filling tables: %w", err)
	}
	_, err = p.root.Exec(ctx, "VACUUM (ANALYZE)")
	return err
}
