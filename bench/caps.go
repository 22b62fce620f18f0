package main

import (
	"context"
	"errors"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/partners"
)

const (
	maxCapsMillis  = 5
	cappedPartners = 1000
	countsASecond  = 2
	countedSeconds = 60 // per round

	capsPartnersSQL = `WITH capped AS (
			INSERT INTO partners (id, slug, name, status, signing_mode, shared_base_url, created_at, updated_at)
			SELECT gen_random_uuid(), 'capped-' || i, 'Capped', 'approved', 'default', false, now(), now() FROM generate_series(1, $1) AS i RETURNING id)
		INSERT INTO partner_prices (partner_id, daily_lead_cap, updated_at) SELECT id, 1000000, now() FROM capped`
	// capsEntriesSQL adds ledger entries that are evenly spaced in time. Consecutive entries are for
	// different partners.
	capsEntriesSQL = `WITH capped AS MATERIALIZED (SELECT array_agg(partner_id) AS ids FROM partner_prices)
		INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
		SELECT ids[1 + i % cardinality(ids)], ids[1], gen_random_uuid(), 'accrual', i::text, 4560, 'GBP', $1::timestamptz + i * ($2::timestamptz - $1) / $3::int
		FROM capped, generate_series(0, $3::int - 1) AS i`
)

// caps measures how long a node takes to count the leads of a busy day for the daily caps of the
// partners.
func (b *bench) caps(ctx context.Context) (err error) {
	d, err := b.stage.newDatabase(ctx, "caps")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	db, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	day := clock.System{}.Now().Truncate(24 * time.Hour)
	now := clock.NewManual(day.Add(23 * time.Hour))
	b.progress("caps: filling a day's ledger with %s leads", grouped(int64(b.plan.CapLeads)))
	for _, fill := range []struct {
		sql  string
		args []any
	}{
		{capsPartnersSQL, []any{cappedPartners}},
		{capsEntriesSQL, []any{day, now.Now(), b.plan.CapLeads}},
		{`VACUUM (ANALYZE)`, nil},
	} {
		if _, err := d.root.Exec(ctx, fill.sql, fill.args...); err != nil {
			return err
		}
	}
	caps := partners.NewCaps(db, now, nil)
	if err := await(ctx, time.Minute, func() (bool, error) { return caps.Count(ctx) == nil, nil }, nil); err != nil {
		return err
	}
	var millis []float64
	for range 1 + b.plan.FineRounds {
		var took time.Duration
		for range countedSeconds * countsASecond {
			from := now.Now()
			now.Advance(time.Second / countsASecond)
			if _, err := d.root.Exec(ctx, capsEntriesSQL, from, now.Now(), max(1, b.plan.CapLeads/(24*60*60*countsASecond))); err != nil {
				return err
			}
			began := clock.System{}.Now()
			if err := caps.Count(ctx); err != nil {
				return err
			}
			took += clock.System{}.Now().Sub(began)
		}
		millis = append(millis, float64(took.Microseconds())/1e3/countedSeconds)
	}
	b.report.caps(b.plan.CapLeads, millis[1:])
	return nil
}
