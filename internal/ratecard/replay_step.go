package ratecard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// recordedPings and recordedLeads are queries that return the same columns. A lead has the outcome of
// the ping that led to its quote. Leads and pings of sandbox accounts are not included. The queries
// contain as few expressions as possible, because evaluating an expression for a row costs as much as
// reading the row.
const (
	recordedPings = `SELECT term_id, country, urgency, partner_id AS seller, outcome, currency, price_minor
		FROM pings WHERE issued_at >= @from AND issued_at < @until AND NOT sandbox`
	recordedLeads = `SELECT term_id, quoted_country AS country, urgency, partner_id AS seller,
		CASE WHEN quoted_partner IS NULL THEN 'unnamed' ELSE 'priced' END AS outcome, currency, price_minor
		FROM leads WHERE received_at >= @from AND received_at < @until AND id >= @first AND id < @end AND NOT sandbox`

	// byCell groups pings or leads by cell. Those from partners with partner pricing are also
	// grouped by partner.
	byCell = `SELECT term_id, country::text, urgency, CASE WHEN seller = ANY (@own) THEN seller END AS own, outcome, currency::text,
			count(*), sum(price_minor)::bigint
		FROM (%s) AS recorded GROUP BY term_id, country, urgency, own, outcome, currency`

	// byPartner covers only partners without partner pricing. It groups their pings or leads by partner
	// and calculates the prices in the database. The arrays industries and markets convert an industry's
	// number and a country to an index into the array prices. Each price above 0 has 2^62 added to it,
	// so that a single numeric sum contains both the number of prices and their total.
	byPartner = `SELECT seller, currency::text, outcome, count(*), sum(price_minor)::bigint,
			coalesce(div(sum(price), 4611686018427387904), 0)::bigint, coalesce(mod(sum(price), 4611686018427387904), 0)::bigint
		FROM (SELECT seller, currency, outcome, price_minor, (@prices::bigint[])[1 + nullif((@industries::int[])[term_id], -1) * @width::int
				+ (@markets::int[])[(ascii(country) - 65) * 26 + ascii(substr(country, 2)) - 64] * 5
				+ CASE lower(urgency COLLATE "C") WHEN 'emergency' THEN 1 WHEN 'immediate' THEN 2 WHEN 'urgent' THEN 3 WHEN 'flexible' THEN 4 ELSE 0 END] AS price
			FROM (%s) AS recorded) AS recorded
		WHERE seller IS NOT NULL AND NOT seller = ANY (@own)
		GROUP BY seller, currency, outcome`
	hasPrice = 1 << 62
)

// stepPages is the maximum size of a replay step in pages of 8 KiB, enough for about a million
// pings. With smaller steps, fewer pings would share a group, so each ping would cost more. Larger
// steps would report progress too rarely.
const stepPages = 128 << 20 / (8 << 10)

// replayStep runs one step of a replay. It adds the pings and leads of one or more days to the tally
// sum, and returns the number of these days. The parameter first is the first day of the step. The
// parameter left is the number of days from this day to the end of the replay.
func (s *Service) replayStep(ctx context.Context, sum *tally, first time.Time, left int) (days int, err error) {
	ctx, cancel := context.WithTimeout(ctx, replayStepTimeout)
	defer cancel()
	tx, err := s.db.Pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return 0, postgres.Translate(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	// A step can take longer than the default timeout and needs memory for its groups. JIT
	// compilation would take more time than it saves.
	if _, err := tx.Exec(ctx, `SELECT set_config('statement_timeout', $1, true), set_config('work_mem', '64MB', true), set_config('jit', 'off', true)`,
		fmt.Sprint(replayStepTimeout.Milliseconds())); err != nil {
		return 0, postgres.Translate(err)
	}
	if days, err = stepDays(ctx, tx, first, left, s.stepPages); err != nil {
		return 0, postgres.Translate(err)
	}
	until := first.AddDate(0, 0, days)
	args := maps.Clone(sum.args)
	args["from"], args["until"] = first, until
	args["first"], args["end"] = quote.IDRange(first, until)
	for _, leads := range []bool{false, true} {
		source := recordedPings
		if leads {
			source = recordedLeads
		}
		if err := sum.cells(ctx, tx, fmt.Sprintf(byCell, source), args, leads); err != nil {
			return 0, postgres.Translate(err)
		}
		if err := sum.partners(ctx, tx, fmt.Sprintf(byPartner, source), args, leads); err != nil {
			return 0, postgres.Translate(err)
		}
	}
	return days, nil
}

// stepDays returns the number of days in the next step. The number is at least one. It uses the table
// sizes from the last vacuum, so that it does not have to wait for locks on partitions.
func stepDays(ctx context.Context, tx pgx.Tx, first time.Time, left int, most int) (days int, err error) {
	err = tx.QueryRow(ctx, `SELECT greatest(1, count(*) FILTER (WHERE so_far <= $3)) FROM (
			SELECT sum(coalesce((SELECT greatest(relpages, 1) FROM pg_class
				WHERE oid = to_regclass('public.pings_' || to_char($1::date + day, 'YYYYMMDD'))), 0)) OVER (ORDER BY day) AS so_far
			FROM generate_series(0, $2::int - 1) AS day) AS days`, first, left, most).Scan(&days)
	return days, err
}

func (t *tally) cells(ctx context.Context, tx pgx.Tx, sql string, args pgx.NamedArgs, leads bool) error {
	rows, err := tx.Query(ctx, sql, args)
	if err != nil {
		return err
	}
	var g recordedGroup
	_, err = pgx.ForEachRow(rows, []any{&g.term, &g.country, &g.urgency, &g.own, &g.outcome, &g.currency, &g.count,
		&g.minor}, func() error {
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
	var currency, outcome string
	var count, minor, priced, price int64
	_, err = pgx.ForEachRow(rows, []any{&seller, &currency, &outcome, &count, &minor, &priced, &price}, func() error {
		f := recorded(outcome, count, minor)
		if isRepriced(outcome) {
			f.Now, f.NowMinor = priced, price
		}
		t.line(t.byPartner, seller.String(), currency).add(f, leads)
		return nil
	})
	return err
}

func newTally(table *pricingrules.Table, own map[uuid.UUID]pricingrules.PartnerPricing) *tally {
	t := &tally{
		table:      table,
		own:        own,
		total:      map[lineKey]*ReplayLine{},
		byCategory: map[lineKey]*ReplayLine{},
		byCountry:  map[lineKey]*ReplayLine{},
		byPartner:  map[lineKey]*ReplayLine{},
	}
	tax, markets := table.Taxonomy(), table.Markets()
	// Postgres arrays are indexed from 1. Use unknown rather than null, because in an array that
	// contains nulls, each lookup would be a linear search.
	industries := slices.Repeat([]int32{unknown}, pricingrules.MaxTermID)
	for i := range tax.Len() {
		industries[tax.At(i).TermID-1] = int32(i)
	}
	var ofCountry []int32
	for a := byte('A'); a <= 'Z'; a++ {
		for b := byte('A'); b <= 'Z'; b++ {
			ofCountry = append(ofCountry, int32(markets.Index([2]byte{a, b}))) //nolint:gosec // there are fewer markets than countries
		}
	}
	var prices []int64
	for industry := range tax.Len() {
		for market := range markets.Len() {
			for class := range pricingrules.Class(pricingrules.Classes) {
				price := table.Price(industry, market, class).Minor
				if price > 0 {
					price += hasPrice
				}
				prices = append(prices, price)
			}
		}
	}
	t.args = pgx.NamedArgs{
		"own": slices.AppendSeq([]uuid.UUID{}, maps.Keys(own)), "industries": trimmed(industries), "markets": ofCountry,
		"width": markets.Len() * pricingrules.Classes, "prices": prices,
	}
	return t
}

// unknown is the index for a taxonomyTermId that belongs to no industry.
const unknown = -1

func trimmed(list []int32) []int32 {
	for len(list) > 0 && list[len(list)-1] == unknown {
		list = list[:len(list)-1]
	}
	return list
}
