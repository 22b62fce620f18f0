package ratecard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/store"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// What was recorded, as one shape: a ping has the outcome that it had then, a lead the
// one that its ping had. Sandboxes' do not count.
const (
	classOf = `CASE lower(urgency) WHEN 'emergency' THEN 1 WHEN 'immediate' THEN 2 WHEN 'urgent' THEN 3 WHEN 'flexible' THEN 4 ELSE 0 END`

	recordedPings = `SELECT term_id, country::text AS country, ` + classOf + ` AS class, partner_id AS seller, outcome, currency::text AS currency, price_minor
		FROM pings WHERE issued_at >= @from AND issued_at < @until AND NOT sandbox`
	recordedLeads = `SELECT term_id, quoted_country::text AS country, ` + classOf + ` AS class, partner_id AS seller,
		CASE WHEN quoted_partner IS NULL THEN 'unnamed' ELSE 'priced' END AS outcome, currency::text AS currency, price_minor
		FROM leads WHERE id >= @first AND id < @last AND NOT sandbox`

	// By cell, and by partner only where a partner has prices of its own: the others
	// are all priced alike.
	byCell = `SELECT term_id, country, class, CASE WHEN seller = ANY (@own) THEN seller END, outcome, currency, count(*), sum(price_minor)::bigint
		FROM (%s) AS recorded GROUP BY 1, 2, 3, 4, 5, 6`

	// By partner, priced in the database with the draft's table, which is sent along.
	byPartner = `SELECT seller, currency, count(*),
			count(*) FILTER (WHERE outcome IN ('priced', 'unnamed')), coalesce(sum(price_minor) FILTER (WHERE outcome IN ('priced', 'unnamed')), 0)::bigint,
			count(*) FILTER (WHERE outcome IN ('priced', 'unnamed', 'excluded') AND minor > 0),
			coalesce(sum(minor) FILTER (WHERE outcome IN ('priced', 'unnamed', 'excluded')), 0)::bigint
		FROM (%s) AS recorded
		LEFT JOIN unnest(@terms::int[], @markets::text[], @classes::int[], @prices::bigint[]) AS cell (term, market, at_class, minor)
			ON term = term_id AND at_class = class AND market = CASE WHEN country = ANY (@own_markets) THEN country ELSE 'other' END
		WHERE seller IS NOT NULL AND NOT seller = ANY (@own)
		GROUP BY seller, currency`
)

func (s *Service) replayDay(ctx context.Context, sum *tally, from, until time.Time) error {
	tx, err := s.db.Pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return store.Translate(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // it only read
	// A day of a busy platform takes longer than a page may.
	if _, err := tx.Exec(ctx, fmt.Sprintf(`SET LOCAL statement_timeout = %d`, replayDayWithin.Milliseconds())); err != nil {
		return store.Translate(err)
	}
	args := maps.Clone(sum.args)
	args["from"], args["until"] = from, until
	args["first"], args["last"] = id.NewV7(from, [10]byte{}), id.NewV7(until, [10]byte{})
	for _, leads := range []bool{false, true} {
		source := recordedPings
		if leads {
			source = recordedLeads
		}
		if err := sum.cells(ctx, tx, fmt.Sprintf(byCell, source), args, leads); err != nil {
			return store.Translate(err)
		}
		if err := sum.partners(ctx, tx, fmt.Sprintf(byPartner, source), args, leads); err != nil {
			return store.Translate(err)
		}
	}
	return nil
}

func (t *tally) cells(ctx context.Context, tx pgx.Tx, sql string, args pgx.NamedArgs, leads bool) error {
	rows, err := tx.Query(ctx, sql, args)
	if err != nil {
		return err
	}
	var g group
	_, err = pgx.ForEachRow(rows, []any{&g.term, &g.country, &g.class, &g.own, &g.outcome, &g.currency, &g.count, &g.minor}, func() error {
		t.addCell(g, leads)
		return nil
	})
	return err
}

func (t *tally) partners(ctx context.Context, tx pgx.Tx, sql string, args pgx.NamedArgs, leads bool) error {
	rows, err := tx.Query(ctx, sql, args)
	if err != nil {
		return err
	}
	var seller uuid.UUID
	var currency string
	var f Figures
	_, err = pgx.ForEachRow(rows, []any{&seller, &currency, &f.Count, &f.Then, &f.ThenMinor, &f.Now, &f.NowMinor}, func() error {
		t.line(t.byPartner, seller.String(), currency).add(f, leads)
		return nil
	})
	return err
}

// newTally sums up a replay with a table.
func newTally(table *pricingrules.Table, own map[uuid.UUID]pricingrules.Own) *tally {
	t := &tally{
		table: table, own: own, total: map[lineKey]*Line{}, byCategory: map[lineKey]*Line{}, byCountry: map[lineKey]*Line{}, byPartner: map[lineKey]*Line{},
	}
	tax, markets := table.Taxonomy(), table.Markets()
	var terms, classes []int32
	var codes []string
	var prices []int64
	for industry := range tax.Len() {
		for market := range markets.Len() {
			for class := range pricingrules.Class(pricingrules.Classes) {
				terms, classes = append(terms, int32(tax.At(industry).TermID)), append(classes, int32(class))
				codes, prices = append(codes, markets.At(market).Code), append(prices, table.Price(industry, market, class).Minor)
			}
		}
	}
	var named []string
	for market := range markets.Len() {
		named = append(named, markets.At(market).Code)
	}
	t.args = pgx.NamedArgs{
		"own": slices.AppendSeq([]uuid.UUID{}, maps.Keys(own)), "own_markets": named,
		"terms": terms, "markets": codes, "classes": classes, "prices": prices,
	}
	return t
}
