package reporting

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/platform/postgres"
)

const (
	// totalsLimit is the maximum number of entries that one call of addTotals adds to the table
	// ledger_totals.
	totalsLimit = 50_000
	// checkedMonths is the number of recent months in which ledger_totals is compared with the ledger.
	checkedMonths = 3
	checkEvery    = day
)

// totalColumns contains the SQL expressions for the totals of a group of ledger entries, in the order of
// the columns of the table ledger_totals.
const totalColumns = `count(*), coalesce(sum(amount_minor) FILTER (WHERE kind = 'accrual'), 0), coalesce(sum(amount_minor) FILTER (WHERE kind = 'return'), 0),
	coalesce(sum(amount_minor) FILTER (WHERE kind = 'adjustment'), 0), coalesce(sum(amount_minor) FILTER (WHERE kind = 'payment'), 0)`

const (
	totalsLock = `SELECT pg_try_advisory_xact_lock(hashtext('ledger totals'))`

	// totalsState reads the range of ids in which addTotals may add entries: above added_to, and up to counted_to. All
	// entries with ids up to counted_to are committed, so no new entries can appear in this range.
	totalsState = `SELECT added_to, counted_to FROM ledger_totals_state t, daily_lead_counts_state c`

	totalsFind = `SELECT EXISTS (SELECT FROM ledger_entries WHERE id > $1 AND id <= $2 AND occurred_at >= $3 AND occurred_at < $4)`

	totalsAdd = `INSERT INTO ledger_totals AS t (account_id, currency, month, entries, accrued_minor, returned_minor, adjusted_minor, paid_minor)
		SELECT account_id, currency, date_trunc('month', occurred_at AT TIME ZONE 'UTC')::date, ` + totalColumns + `
		FROM ledger_entries
		WHERE id > $1 AND id <= $2 AND occurred_at >= $3 AND occurred_at < $4 GROUP BY 1, 2, 3
		ON CONFLICT (account_id, currency, month) DO UPDATE SET entries = t.entries + excluded.entries,
			accrued_minor = t.accrued_minor + excluded.accrued_minor, returned_minor = t.returned_minor + excluded.returned_minor,
			adjusted_minor = t.adjusted_minor + excluded.adjusted_minor, paid_minor = t.paid_minor + excluded.paid_minor`

	totalsAdded = `UPDATE ledger_totals_state SET added_to = $1`
)

// UpdateTotals adds ledger entries to the table ledger_totals. It adds each entry exactly once. It adds
// only entries that the table daily_lead_counts already includes. All entries with lower ids than these
// have been committed, so none is missed. Only one node at a time does this.
func (r *Rollup) UpdateTotals(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rollUpTimeout)
	defer cancel()
	for more := true; more; {
		err := pgx.BeginFunc(ctx, r.db.Pool, func(tx pgx.Tx) (err error) {
			more, err = addTotals(ctx, tx)
			return err
		})
		if err != nil {
			return postgres.Translate(err)
		}
	}
	return nil
}

// addTotals adds up to totalsLimit ledger entries to ledger_totals, and reports whether there are more.
func addTotals(ctx context.Context, tx pgx.Tx) (more bool, err error) {
	var mine bool
	if err := tx.QueryRow(ctx, totalsLock).Scan(&mine); err != nil || !mine {
		return false, err
	}
	var added, committed int64
	if err := tx.QueryRow(ctx, totalsState).Scan(&added, &committed); err != nil || committed <= added {
		return false, err
	}
	to := min(committed, added+totalsLimit)
	months, err := postgres.Partitions(ctx, tx, "ledger_entries", postgres.Period{})
	if err != nil {
		return false, err
	}
	// Make Postgres look up entries by id, even if a table was small when its statistics were collected.
	if err := inOrder(ctx, tx, statement{`SET LOCAL enable_seqscan = off`, nil}); err != nil {
		return false, err
	}
	// An entry can have any time, so all partitions are searched. Nearly all entries are in the first
	// window.
	for _, window := range postgres.Windows(months) {
		span := postgres.Span(window)
		args := []any{added, to, span.From, span.Until}
		var found bool
		if err := postgres.Releasing(ctx, tx, func(tx pgx.Tx) error {
			return tx.QueryRow(ctx, totalsFind, args...).Scan(&found)
		}); err != nil {
			return false, err
		}
		if found {
			if _, err := tx.Exec(ctx, totalsAdd, args...); err != nil {
				return false, err
			}
		}
	}
	_, err = tx.Exec(ctx, totalsAdded, to)
	return to < committed, err
}

// TotalsDifference is a month in which ledger_totals differs from the ledger.
type TotalsDifference struct {
	Month  time.Time
	Totals int // number of totals that differ, each for one account and currency
}

// CheckTotals compares the months since the given time in the table ledger_totals with the ledger, and returns
// the months in which they differ. If the time is zero, it compares all months.
func (r *Rollup) CheckTotals(ctx context.Context, since time.Time) (all []TotalsDifference, err error) {
	err = pgx.BeginTxFunc(ctx, r.db.Pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		months, err := postgres.Partitions(ctx, tx, "ledger_entries", postgres.Period{From: since})
		if err != nil {
			return err
		}
		if err := inOrder(ctx, tx); err != nil {
			return err
		}
		for _, month := range months {
			d := TotalsDifference{Month: month.From}
			if err := tx.QueryRow(ctx, `WITH entry AS (
					SELECT account_id, currency, `+totalColumns+` FROM ledger_entries
					WHERE id <= (SELECT added_to FROM ledger_totals_state) AND occurred_at >= $1 AND occurred_at < $2
					GROUP BY account_id, currency
				), total AS (
					SELECT account_id, currency, entries, accrued_minor, returned_minor, adjusted_minor, paid_minor FROM ledger_totals
					WHERE month = ($1::timestamptz AT TIME ZONE 'UTC')::date
				)
				SELECT count(DISTINCT (account_id, currency))
				FROM ((TABLE entry EXCEPT TABLE total) UNION ALL (TABLE total EXCEPT TABLE entry)) AS different`,
				month.From, month.Until).Scan(&d.Totals); err != nil {
				return err
			}
			if d.Totals > 0 {
				all = append(all, d)
			}
		}
		return nil
	})
	return all, postgres.Translate(err)
}

// checkRecent calls CheckTotals for the recent months.
func (r *Rollup) checkRecent(ctx context.Context, now time.Time) ([]TotalsDifference, error) {
	ctx, cancel := context.WithTimeout(ctx, rollUpTimeout)
	defer cancel()
	return r.CheckTotals(ctx, now.AddDate(0, 1-checkedMonths, 0))
}

// checkDaily compares the recent months once a day, on one node. It logs differences and stores their number,
// which all nodes report as a metric.
func (r *Rollup) checkDaily(ctx context.Context) error {
	now := r.clock.Now()
	claimed, err := r.db.Pool.Exec(ctx,
		`UPDATE ledger_totals_state SET checked_at = $1 WHERE checked_at IS NULL OR checked_at <= $2`, now,
		now.Add(-checkEvery))
	if err != nil {
		return postgres.Translate(err)
	}
	if claimed.RowsAffected() > 0 {
		found, err := r.checkRecent(ctx, now)
		if err != nil {
			_, again := r.db.Pool.Exec(context.WithoutCancel(ctx), `UPDATE ledger_totals_state SET checked_at = NULL`) // check in the next pass
			return errors.Join(err, postgres.Translate(again))
		}
		total := 0
		for _, d := range found {
			total += d.Totals
			r.log.Error("ledger totals differ from the ledger, so balances are wrong", "month", d.Month.Format("2006-01"),
				"totals", d.Totals)
		}
		if _, err := r.db.Pool.Exec(ctx, `UPDATE ledger_totals_state SET differences = $1`, total); err != nil {
			return postgres.Translate(err)
		}
	}
	var differences int64
	err = r.db.Pool.QueryRow(ctx, `SELECT differences FROM ledger_totals_state`).Scan(&differences)
	r.differences.Store(differences)
	return postgres.Translate(err)
}

// TotalsDifferences returns the number of ledger totals that differed from the ledger at the last
// daily check.
func (r *Rollup) TotalsDifferences() int64 { return r.differences.Load() }
