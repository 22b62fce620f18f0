package reporting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

const (
	rollEvery = 20 * time.Second
	// rollUpTimeout limits one pass of a Rollup, because the statement timeout of the database has no
	// effect if the network fails. If a pass is interrupted, the next one continues where it stopped.
	rollUpTimeout = 10 * time.Minute
	day           = 24 * time.Hour
	// entryDelay is the minimum age of the entries that addLatest adds, because entries are committed
	// some time after their occurred_at. Entries that are committed even later are added when their day
	// is summed again.
	entryDelay = time.Minute
	// dayDelay is the time between the end of a day and the moment when the day is summed again.
	dayDelay = 15 * time.Minute
	// refreshEvery is how often the figures of all partners are updated. Between these updates, only
	// partners with new entries or traffic are updated.
	refreshEvery = 15 * time.Minute
	// figureDays is the number of days, including today, that the table partner_figures covers.
	// retentionDays is the number of days in the table partner_days, which keeps a few more days for
	// manual queries.
	figureDays, retentionDays = 30, 40
	// postDays is the number of days that the counts of rejected posts cover: the last 24 hours, and the 7 days
	// before them. The table post_hours keeps one more day.
	postDays = 8
)

// Rollup computes the figures in the list of partners, and the ledger's totals by month. It sums the
// ledger by day and partner in the table partner_days. From that, it computes the 30-day totals in the
// table partner_figures. It sums the ledger by account and month in the table ledger_totals, and the
// traffic counters of posts by hour in the table post_hours.
type Rollup struct {
	db          *postgres.DB
	clock       clock.Clock
	log         *slog.Logger
	differences atomic.Int64 // found by the last check of ledger_totals
}

// NewRollup returns a Rollup for db.
func NewRollup(db *postgres.DB, c clock.Clock, log *slog.Logger) *Rollup {
	return &Rollup{db: db, clock: c, log: log}
}

// Run updates the figures and totals every 20 seconds until ctx is cancelled. It runs on all nodes. A
// lock ensures that only one node at a time does the work.
func (r *Rollup) Run(ctx context.Context) {
	tick := time.NewTicker(rollEvery)
	defer tick.Stop()
	for {
		for _, work := range []struct {
			name string
			do   func(context.Context) error
		}{{"updating partner figures", r.Update}, {"updating ledger totals", r.UpdateTotals}, {"checking ledger totals", r.checkDaily}} {
			if err := work.do(ctx); err != nil && ctx.Err() == nil {
				r.log.Warn(work.name+" failed, retrying", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Update updates the figures in the list of partners. It first sums completed days, each in its own
// transaction. If a pass is interrupted, the next one continues where it stopped.
func (r *Rollup) Update(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rollUpTimeout)
	defer cancel()
	for {
		more := false
		err := pgx.BeginFunc(ctx, r.db.Pool, func(tx pgx.Tx) (err error) {
			more, err = r.sumNext(ctx, tx)
			return err
		})
		if err != nil || !more {
			return postgres.Translate(err)
		}
	}
}

// progress records how much of the ledger has been summed. All entries with an occurred_at before the
// field until have been added. All days before the field whole have been summed again.
type progress struct{ until, whole time.Time }

// sumNext sums one completed day again or, if all completed days are done, adds the latest
// entries. It reports whether more work is left.
func (r *Rollup) sumNext(ctx context.Context, tx pgx.Tx) (more bool, err error) {
	now := r.clock.Now()
	last, locked, err := r.begin(ctx, tx, now)
	if err != nil || !locked {
		return false, err
	}
	done := last
	if more = !now.Before(last.whole.Add(day + dayDelay)); more {
		done.whole = last.whole.Add(day)
		due := !now.Before(done.whole.Add(day + dayDelay)) // if another day is due, the figures are updated after that day
		err = replaceDay(ctx, tx, last.whole, now, !due)
		if done.until.Before(done.whole) {
			done.until = done.whole
		}
	} else {
		if until := now.Add(-entryDelay).Truncate(time.Microsecond); until.After(last.until) {
			done.until = until
		}
		err = addLatest(ctx, tx, last.until, done.until, now)
	}
	if err != nil || done == last {
		return more, err
	}
	_, err = tx.Exec(ctx, `UPDATE partner_figures_state SET added_until = $1, whole_before = $2`, done.until, done.whole)
	return more, err
}

// begin tries to take the lock, and reads the progress. The result locked is false if another node holds
// the lock. Days before the retention period are skipped.
func (r *Rollup) begin(ctx context.Context, tx pgx.Tx, now time.Time) (p progress, locked bool, err error) {
	if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock(hashtext('partner figures'))`).Scan(&locked); err != nil || !locked {
		return p, false, err
	}
	first := now.Truncate(day).Add(-(retentionDays - 1) * day)
	switch err = tx.QueryRow(ctx, `SELECT added_until, whole_before FROM partner_figures_state`).Scan(&p.until, &p.whole); {
	case errors.Is(err, pgx.ErrNoRows):
		p = progress{first, first}
		_, err = tx.Exec(ctx, `INSERT INTO partner_figures_state (added_until, whole_before) VALUES ($1, $2)`, p.until,
			p.whole)
	case p.whole.Before(first):
		p.whole = first
	}
	if p.until.Before(p.whole) {
		p.until = p.whole
	}
	return p, true, err
}

// The constant sums is a query for the number of leads and their payouts in a time range, grouped by
// day, partner and currency.
const sums = `SELECT (occurred_at AT TIME ZONE 'UTC')::date, partner_id, currency, count(*), sum(amount_minor)::bigint FROM ledger_entries
	WHERE kind = 'accrual' AND occurred_at >= $1 AND occurred_at < $2 GROUP BY 1, 2, 3`

// replaceDay sums a completed day again, including entries that were committed late.
func replaceDay(ctx context.Context, tx pgx.Tx, from, now time.Time, show bool) error {
	all := []statement{
		{`DELETE FROM partner_days WHERE day = $1`, []any{from}},
		{`INSERT INTO partner_days (day, partner_id, currency, leads, payout_minor) ` + sums, []any{from, from.Add(day)}},
		sumPosts(from, from.Add(day), now),
	}
	if show {
		all = append(all, statement{showAll, figureStarts(now)})
	}
	return inOrder(ctx, tx, all...)
}

// addLatest adds the ledger entries in a time range to partner_days, and updates the figures of
// partners that had entries or traffic. At intervals of refreshEvery, it updates the figures of all
// partners instead, because their 30-day window moves at midnight.
func addLatest(ctx context.Context, tx pgx.Tx, from, until, now time.Time) error {
	show := statement{showTouched, append(figureStarts(now), from, until, from.Add(-entryDelay))}
	if !from.Truncate(refreshEvery).Equal(until.Truncate(refreshEvery)) {
		show = statement{showAll, figureStarts(now)}
	}
	return inOrder(ctx, tx,
		statement{`INSERT INTO partner_days AS d (day, partner_id, currency, leads, payout_minor) ` + sums + `
			ON CONFLICT (day, partner_id, currency) DO UPDATE
			SET leads = d.leads + excluded.leads, payout_minor = d.payout_minor + excluded.payout_minor`,
			[]any{from, until}},
		statement{`DELETE FROM partner_days WHERE day <= $1`, []any{now.Truncate(day).Add(-retentionDays * day)}},
		sumPosts(from.Add(-entryDelay), now, now),
		statement{`DELETE FROM post_hours WHERE hour < $1`, []any{now.Truncate(day).Add(-postDays * day)}},
		show)
}

// figureStarts returns the first arguments of the statements showAll and showTouched: the day before the first day of
// the figures, and the start of the last 24 hours. These are clock hours, as in the overview, and the last one has not
// ended.
func figureStarts(now time.Time) []any {
	return []any{now.Truncate(day).Add(-figureDays * day), LastSteps(now, time.Hour, 24).From}
}

// sumPosts sums the posts in a time range by partner and hour. The hour in which the range starts is summed again.
// Hours that are too old for post_hours are skipped.
func sumPosts(from, until, now time.Time) statement {
	if first := now.Truncate(day).Add(-postDays * day); from.Before(first) {
		from = first
	}
	return statement{`INSERT INTO post_hours AS h (partner_id, hour, posts, rejected)
		SELECT partner_id, date_trunc('hour', minute), sum(count), coalesce(sum(count) FILTER (WHERE NOT (` + accepted + `)), 0)
		FROM traffic_minutes t WHERE minute >= $1 AND minute < $2 AND endpoint = 'post'
			AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = t.account_id AND a.sandbox)
		GROUP BY 1, 2
		ON CONFLICT (partner_id, hour) DO UPDATE SET posts = excluded.posts, rejected = excluded.rejected
		WHERE (h.posts, h.rejected) IS DISTINCT FROM (excluded.posts, excluded.rejected)`,
		[]any{from.Truncate(time.Hour), until}}
}

const (
	showAll     = `WITH shown AS (SELECT id FROM partners)` + show
	showTouched = `WITH shown AS MATERIALIZED (
		SELECT partner_id AS id FROM ledger_entries WHERE occurred_at >= $3 AND occurred_at < $4
		UNION SELECT t.partner_id FROM traffic_minutes t JOIN partners p ON p.id = t.partner_id WHERE t.minute >= $5
		UNION SELECT p.id FROM partners p WHERE NOT EXISTS (SELECT FROM partner_figures f WHERE f.partner_id = p.id)
	)` + show
)

// The constant show is the end of an SQL statement. It updates the figures of the partners that the
// statement's subquery "shown" selects. It writes only the rows that changed. last_traffic_at keeps its
// value when old rows of traffic_minutes are deleted.
const show = `, by_currency AS (
		SELECT partner_id, currency, sum(leads)::bigint AS leads, sum(payout_minor)::bigint AS minor
		FROM partner_days WHERE day > $1 AND partner_id IN (SELECT id FROM shown) GROUP BY partner_id, currency
	), by_partner AS (
		SELECT partner_id, sum(leads)::bigint AS leads, jsonb_agg(jsonb_build_object('currency', currency, 'minor', minor)
			ORDER BY by_currency.leads DESC, currency) AS payouts
		FROM by_currency GROUP BY partner_id
	), by_hour AS (
		SELECT partner_id, sum(posts) FILTER (WHERE hour >= $2)::bigint AS posts,
			sum(rejected) FILTER (WHERE hour >= $2)::bigint AS rejected, sum(rejected) FILTER (WHERE hour < $2)::bigint AS before
		FROM post_hours WHERE hour >= $2 - interval '7 days' AND partner_id IN (SELECT id FROM shown) GROUP BY partner_id
	), latest AS (
		SELECT p.id, coalesce(s.leads, 0) AS leads, coalesce(s.payouts, '[]') AS payouts, greatest(f.last_traffic_at, t.minute) AS seen,
			coalesce(h.posts, 0) AS posts, coalesce(h.rejected, 0) AS rejected, coalesce(h.before, 0) AS before, f.partner_id AS there,
			(f.leads, f.payouts, f.last_traffic_at, f.posts, f.rejected_posts, f.rejected_before) AS had
		FROM shown p LEFT JOIN by_partner s ON s.partner_id = p.id LEFT JOIN by_hour h ON h.partner_id = p.id
			LEFT JOIN partner_figures f ON f.partner_id = p.id
			LEFT JOIN LATERAL (SELECT minute FROM traffic_minutes m WHERE m.partner_id = p.id ORDER BY minute DESC
				LIMIT 1) t ON true
	)
	INSERT INTO partner_figures (partner_id, leads, payouts, last_traffic_at, posts, rejected_posts, rejected_before)
	SELECT id, leads, payouts, seen, posts, rejected, before FROM latest
	WHERE there IS NULL OR (leads, payouts, seen, posts, rejected, before) IS DISTINCT FROM had
	ON CONFLICT (partner_id) DO UPDATE SET leads = excluded.leads, payouts = excluded.payouts, last_traffic_at = excluded.last_traffic_at,
		posts = excluded.posts, rejected_posts = excluded.rejected_posts, rejected_before = excluded.rejected_before`

type statement struct {
	sql  string
	args []any
}

// inOrder runs statements one after the other. Their timeout is rollUpTimeout, because no user
// waits for them.
func inOrder(ctx context.Context, tx pgx.Tx, all ...statement) error {
	if _, err := tx.Exec(ctx, fmt.Sprintf(`SET LOCAL statement_timeout = %d`, rollUpTimeout.Milliseconds())); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, postgres.SetPlanEachTime); err != nil {
		return err
	}
	for _, s := range all {
		if _, err := tx.Exec(ctx, s.sql, s.args...); err != nil {
			return err
		}
	}
	return nil
}
