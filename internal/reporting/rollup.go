package reporting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/postgres"
)

const (
	rollEvery = 20 * time.Second
	// rollUpTimeout bounds a pass from this side: the server's own time-out does not
	// help when the network between has gone. What is left is done by the next one.
	rollUpTimeout = 10 * time.Minute
	day           = 24 * time.Hour
	// settled is how old an entry is when it is added: a post's entry is committed
	// some time after the moment that it bears, and one that comes later still is
	// found when its day is added up as a whole.
	settled = time.Minute
	// over is how long a day has been over when it is added up as a whole.
	over = 15 * time.Minute
	// refreshed is how often the figures of all partners are made anew, and not of
	// those alone that had something.
	refreshed = 15 * time.Minute
	// shownDays are the days of partner_figures, today among them, and keptDays those
	// of partner_days: the rest is for whoever looks a little further back.
	shownDays, keptDays = 30, 40
)

// Rollup adds up the ledger by day and partner, so that a list of partners need not
// (partner_days, partner_figures). Sandbox leads have no entries, and are not in it.
type Rollup struct {
	db    *postgres.DB
	clock clock.Clock
	log   *slog.Logger
}

// NewRollup adds up in the database's own tables.
func NewRollup(db *postgres.DB, c clock.Clock, log *slog.Logger) *Rollup {
	return &Rollup{db: db, clock: c, log: log}
}

// Run makes a pass every 20 seconds until ctx ends. On all nodes: one of them does
// the work, the others find it under way or done.
func (r *Rollup) Run(ctx context.Context) {
	tick := time.NewTicker(rollEvery)
	defer tick.Stop()
	for {
		if err := r.Update(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn("the figures of partners are behind and will be tried again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Update brings the figures up to date. Days that are over come first, each in a
// transaction of its own: on a database whose entries were never added up, that is
// how it catches up.
func (r *Rollup) Update(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rollUpTimeout)
	defer cancel()
	for {
		more := false
		err := pgx.BeginFunc(ctx, r.db.Pool, func(tx pgx.Tx) (err error) {
			more, err = r.step(ctx, tx)
			return err
		})
		if err != nil || !more {
			return postgres.Translate(err)
		}
	}
}

// progress is how far the ledger has been added up: entries before until, and whole
// days before whole once more.
type progress struct{ until, whole time.Time }

// step adds up one whole day that is over, or else what came last. It reports
// whether there is more to do.
func (r *Rollup) step(ctx context.Context, tx pgx.Tx) (more bool, err error) {
	now := r.clock.Now()
	had, mine, err := r.begin(ctx, tx, now)
	if err != nil || !mine {
		return false, err
	}
	done := had
	if more = !now.Before(had.whole.Add(day + over)); more {
		done.whole = had.whole.Add(day)
		due := !now.Before(done.whole.Add(day + over)) // another one: shown after the last
		err = replaceDay(ctx, tx, had.whole, now.Truncate(day), !due)
		if done.until.Before(done.whole) {
			done.until = done.whole
		}
	} else {
		if until := now.Add(-settled).Truncate(time.Microsecond); until.After(had.until) {
			done.until = until
		}
		err = addLatest(ctx, tx, had.until, done.until, now.Truncate(day))
	}
	if err != nil || done == had {
		return more, err
	}
	_, err = tx.Exec(ctx, `UPDATE partner_figures_state SET added_until = $1, whole_before = $2`, done.until, done.whole)
	return more, err
}

// begin takes the lock that one node has at a time and reads how far it is. Nothing
// is known of days that are too old to be kept.
func (r *Rollup) begin(ctx context.Context, tx pgx.Tx, now time.Time) (p progress, mine bool, err error) {
	if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock(hashtext('partner figures'))`).Scan(&mine); err != nil || !mine {
		return p, false, err
	}
	first := now.Truncate(day).Add(-(keptDays - 1) * day)
	switch err = tx.QueryRow(ctx, `SELECT added_until, whole_before FROM partner_figures_state`).Scan(&p.until, &p.whole); {
	case errors.Is(err, pgx.ErrNoRows):
		p = progress{first, first}
		_, err = tx.Exec(ctx, `INSERT INTO partner_figures_state (added_until, whole_before) VALUES ($1, $2)`, p.until, p.whole)
	case p.whole.Before(first):
		p.whole = first
	}
	if p.until.Before(p.whole) {
		p.until = p.whole
	}
	return p, true, err
}

// sums is what a span of the ledger comes to.
const sums = `SELECT (occurred_at AT TIME ZONE 'UTC')::date, partner_id, currency, count(*), sum(amount_minor)::bigint FROM ledger_entries
	WHERE kind = 'accrual' AND occurred_at >= $1 AND occurred_at < $2 GROUP BY 1, 2, 3`

// replaceDay adds a day up as a whole, with the entries that came too late for the
// minute that they bear.
func replaceDay(ctx context.Context, tx pgx.Tx, from, today time.Time, show bool) error {
	all := []statement{
		{`DELETE FROM partner_days WHERE day = $1`, []any{from}},
		{`INSERT INTO partner_days (day, partner_id, currency, leads, payout_minor) ` + sums, []any{from, from.Add(day)}},
	}
	if show {
		all = append(all, statement{showAll, []any{today.Add(-shownDays * day)}})
	}
	return inOrder(ctx, tx, all...)
}

// addLatest adds the entries of a span, and brings what the list shows up to date: of
// the partners that had any or sent something, and every refreshed of all. The days
// that the figures are of change at midnight.
func addLatest(ctx context.Context, tx pgx.Tx, from, until, today time.Time) error {
	show := statement{showTouched, []any{today.Add(-shownDays * day), from, until, from.Add(-settled)}}
	if !from.Truncate(refreshed).Equal(until.Truncate(refreshed)) {
		show = statement{showAll, show.args[:1]}
	}
	return inOrder(ctx, tx,
		statement{`INSERT INTO partner_days AS d (day, partner_id, currency, leads, payout_minor) ` + sums + `
			ON CONFLICT (day, partner_id, currency) DO UPDATE SET leads = d.leads + excluded.leads, payout_minor = d.payout_minor + excluded.payout_minor`,
			[]any{from, until}},
		statement{`DELETE FROM partner_days WHERE day <= $1`, []any{today.Add(-keptDays * day)}},
		show)
}

const (
	showAll     = `WITH shown AS (SELECT id FROM partners)` + show
	showTouched = `WITH shown AS MATERIALIZED (
		SELECT partner_id AS id FROM ledger_entries WHERE occurred_at >= $2 AND occurred_at < $3
		UNION SELECT t.partner_id FROM traffic_minutes t JOIN partners p ON p.id = t.partner_id WHERE t.minute >= $4
		UNION SELECT p.id FROM partners p WHERE NOT EXISTS (SELECT FROM partner_figures f WHERE f.partner_id = p.id)
	)` + show
)

// show writes only the rows that differ. Traffic is forgotten after a while; when the
// last was, is not.
const show = `, by_currency AS (
		SELECT partner_id, currency, sum(leads)::bigint AS leads, sum(payout_minor)::bigint AS minor
		FROM partner_days WHERE day > $1 AND partner_id IN (SELECT id FROM shown) GROUP BY partner_id, currency
	), by_partner AS (
		SELECT partner_id, sum(leads)::bigint AS leads, jsonb_agg(jsonb_build_object('currency', currency, 'minor', minor) ORDER BY currency) AS payouts
		FROM by_currency GROUP BY partner_id
	), latest AS (
		SELECT p.id, coalesce(s.leads, 0) AS leads, coalesce(s.payouts, '[]') AS payouts, greatest(f.last_traffic_at, t.minute) AS seen, f.partner_id AS there,
			f.leads AS had_leads, f.payouts AS had_payouts, f.last_traffic_at AS had_seen
		FROM shown p LEFT JOIN by_partner s ON s.partner_id = p.id LEFT JOIN partner_figures f ON f.partner_id = p.id
			LEFT JOIN LATERAL (SELECT minute FROM traffic_minutes m WHERE m.partner_id = p.id ORDER BY minute DESC LIMIT 1) t ON true
	)
	INSERT INTO partner_figures (partner_id, leads, payouts, last_traffic_at)
	SELECT id, leads, payouts, seen FROM latest
	WHERE there IS NULL OR (leads, payouts, seen) IS DISTINCT FROM (had_leads, had_payouts, had_seen)
	ON CONFLICT (partner_id) DO UPDATE SET leads = excluded.leads, payouts = excluded.payouts, last_traffic_at = excluded.last_traffic_at`

type statement struct {
	sql  string
	args []any
}

// inOrder runs statements, each of which may take as long as the pass: to add up a
// day of many leads is not a request that somebody waits for.
func inOrder(ctx context.Context, tx pgx.Tx, all ...statement) error {
	if _, err := tx.Exec(ctx, fmt.Sprintf(`SET LOCAL statement_timeout = %d`, rollUpTimeout.Milliseconds())); err != nil {
		return err
	}
	for _, s := range all {
		if _, err := tx.Exec(ctx, s.sql, s.args...); err != nil {
			return err
		}
	}
	return nil
}
