package partners

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

const (
	// foldAt is the number of uncounted ledger entries at which a count adds them to the table
	// daily_lead_counts. A lower number would make counts cheaper, but writes more frequent.
	foldAt = 1_000
	// rollUpLimit is the maximum number of ledger entries that a count reads. It is also the
	// maximum number that one step adds to daily_lead_counts.
	rollUpLimit = 50_000
	// retentionDays is the number of days after which rows of daily_lead_counts are deleted.
	retentionDays = 7
)

var errFoldBehind = fmt.Errorf("more than %d ledger entries are not counted yet", rollUpLimit)

// byIndex is a statement that makes Postgres use indexes, and plan each statement for its arguments.
// Otherwise, Postgres could reuse a plan that it cached while the tables were small. It might then scan
// whole tables or lock all partitions of the ledger.
const byIndex = `SELECT set_config('enable_seqscan', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true)`

// uncounted is the beginning of an SQL statement with two subqueries. The first selects the ledger entries that are not
// in daily_lead_counts yet. The second counts each partner's accruals among these entries for the UTC day that begins
// at $1. Entries before $3 are left out, because daily_lead_counts no longer contains their days. The rest of the
// statement must itself read daily_lead_counts, so that entries and counts come from the same point in time.
const uncounted = `
WITH uncounted AS MATERIALIZED (
	SELECT partner_id, kind, occurred_at FROM ledger_entries
	WHERE id > (SELECT counted_to FROM daily_lead_counts_state WHERE only_row) AND occurred_at >= $3 ORDER BY id LIMIT $2
), today AS (
	SELECT partner_id, count(*) AS leads FROM uncounted
	WHERE kind = 'accrual' AND occurred_at >= $1 AND occurred_at < $1 + interval '24 hours' GROUP BY partner_id
)`

func retainedSince(today time.Time) time.Time { return today.AddDate(0, 0, -retentionDays) }

// reachedSQL selects the partners that have reached their caps. It also counts the entries that are
// not in daily_lead_counts yet.
const reachedSQL = uncounted + `
SELECT ARRAY(
	SELECT partner_id FROM partner_prices
		LEFT JOIN (SELECT partner_id, leads FROM daily_lead_counts
			WHERE day = ($1::timestamptz AT TIME ZONE 'UTC')::date) AS counted USING (partner_id)
		LEFT JOIN today USING (partner_id)
	WHERE daily_lead_cap <= coalesce(counted.leads, 0) + coalesce(today.leads, 0)
), (SELECT count(*) FROM uncounted)`

// reachedCaps returns the partners that have reached their caps on a UTC day, and the number of
// ledger entries that it read to find them. It reads at most limit entries.
func reachedCaps(
	ctx context.Context, pool *pgxpool.Pool, day time.Time, limit int,
) (reached []uuid.UUID, entries int, err error) {
	batch := &pgx.Batch{}
	batch.Queue(byIndex)
	batch.Queue(reachedSQL, day, limit, retainedSince(day)).
		QueryRow(func(row pgx.Row) error { return row.Scan(&reached, &entries) })
	return reached, entries, postgres.Translate(pool.SendBatch(ctx, batch).Close())
}

// LeadsToday returns the number of leads that the partner has delivered on the current UTC day.
// These leads count towards its daily cap. Sandbox leads are not included.
func (s *Service) LeadsToday(ctx context.Context, p models.Partner) (leads int64, err error) {
	const all = uncounted + `
		SELECT coalesce((SELECT leads FROM daily_lead_counts WHERE day = ($1::timestamptz AT TIME ZONE 'UTC')::date
			AND partner_id = $4), 0)
			+ coalesce((SELECT leads FROM today WHERE partner_id = $4), 0)`
	batch := &pgx.Batch{}
	batch.Queue(byIndex)
	today := dayOf(s.clock.Now())
	batch.Queue(all, today, nil, retainedSince(today), p.ID).QueryRow(func(row pgx.Row) error { return row.Scan(&leads) })
	return leads, postgres.Translate(s.db.Pool.SendBatch(ctx, batch).Close())
}

// foldLeadCounts runs these statements. Each of them must see everything that was committed before it
// starts.
const (
	foldLock = `SELECT pg_try_advisory_xact_lock(hashtext('daily lead counts'))`

	ledgerWriters = `FROM pg_locks WHERE locktype = 'relation' AND relation = 'ledger_entries'::regclass AND mode = 'RowExclusiveLock'
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

	foldState = `SELECT counted_to, settling_to, EXISTS (SELECT ` + ledgerWriters + ` AND virtualtransaction = ANY (s.writers))
		FROM daily_lead_counts_state AS s WHERE only_row`

	foldEntries = `INSERT INTO daily_lead_counts AS c (day, partner_id, leads)
		SELECT (occurred_at AT TIME ZONE 'UTC')::date, partner_id, count(*) FROM ledger_entries
		WHERE id > $1 AND id <= $2 AND kind = 'accrual' AND occurred_at >= $3 GROUP BY 1, 2
		ON CONFLICT (day, partner_id) DO UPDATE SET leads = c.leads + excluded.leads`

	foldForget  = `DELETE FROM daily_lead_counts WHERE day < ($1::timestamptz AT TIME ZONE 'UTC')::date`
	foldCounted = `UPDATE daily_lead_counts_state SET counted_to = $1 WHERE only_row`

	foldLatest = `SELECT coalesce(max(id), 0) FROM ledger_entries WHERE occurred_at >= $1`
	foldSettle = `UPDATE daily_lead_counts_state SET settling_to = $1, writers = ARRAY(SELECT virtualtransaction ` + ledgerWriters + `) WHERE only_row`
)

// foldLeadCounts adds ledger entries to daily_lead_counts and reports whether it added any. It adds each
// entry exactly once.
//
// Entries are not committed in the order of their ids, so this takes two steps. The first step records
// the latest id and the transactions that are currently writing to the ledger. When these transactions
// have ended, no more entries with this id or a lower one can appear. The second step then adds all
// entries up to this id. Entries with a higher id are counted in the ledger itself.
//
// Only one node at a time runs these steps. Posts do not wait for them.
func foldLeadCounts(ctx context.Context, pool *pgxpool.Pool, today time.Time) (added bool, err error) {
	err = pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		var mine bool
		if err := tx.QueryRow(ctx, foldLock).Scan(&mine); err != nil || !mine {
			return err
		}
		var counted, settling int64
		var writing bool
		_, setting := tx.Exec(ctx, byIndex)
		if err := cmp.Or(setting, tx.QueryRow(ctx, foldState).Scan(&counted, &settling, &writing)); err != nil || writing {
			return err
		}
		since := retainedSince(today)
		if to := min(settling, counted+rollUpLimit); to > counted {
			batch := &pgx.Batch{}
			batch.Queue(foldEntries, counted, to, since)
			batch.Queue(foldForget, since)
			batch.Queue(foldCounted, to)
			if err := tx.SendBatch(ctx, batch).Close(); err != nil {
				return err
			}
			added, counted = true, to
		}
		if counted < settling {
			return nil
		}
		var latest int64
		if err := tx.QueryRow(ctx, foldLatest, since).Scan(&latest); err != nil || latest <= settling {
			return err
		}
		_, err := tx.Exec(ctx, foldSettle, latest)
		return err
	})
	return added && err == nil, postgres.Translate(err)
}
