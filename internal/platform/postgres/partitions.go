package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// partitionLockTimeout limits how long creating or dropping a partition waits for a lock on the
	// table. During this time, the COPY that records pings has to wait, too. A backup or a long report
	// can lock the table for longer than the timeout, so changePartitions tries again.
	partitionLockTimeout = "200ms"
	partitionPause       = time.Second // between attempts, so that COPY can proceed
	// partitionStatementTimeout limits a statement. Attaching a detached partition reads all of its rows.
	partitionStatementTimeout = "10min"
	partitionTries            = 20

	lockNotAvailable = "55P03"
)

// PartitionUnit is the period of time that one partition contains.
type PartitionUnit string

// The periods are in UTC. A week starts on Monday.
const (
	Daily   PartitionUnit = "day"
	Weekly  PartitionUnit = "week"
	Monthly PartitionUnit = "month"
)

// Partitions are created this many days in advance.
const (
	PingDaysAhead = 7
	daysAhead     = 28
)

// The partitioned tables. A post writes to all lead tables and to ledger_entries.
var (
	leadTables   = []string{"leads", "lead_keys", "consents", "lead_events"}
	ledgerTables = []string{ledgerEntries, "payout_run_entries"}
)

const (
	ledgerEntries = "ledger_entries"
	pings         = "pings"
)

// Horizon is the time until which a table has partitions without a gap. If the table has no partition
// for the current time, Until is zero.
type Horizon struct {
	Table string
	Until time.Time
	Posts bool // whether posts write to the table
}

// Horizons returns the horizon of each partitioned table at the time now.
func (db *DB) Horizons(ctx context.Context, now time.Time) ([]Horizon, error) {
	tables := slices.Concat(leadTables, ledgerTables, []string{pings})
	rows, err := db.Pool.Query(ctx, `
		SELECT name, CASE WHEN bool_or(starts_at <= $1) THEN min(ends_at) FILTER (WHERE next_starts_at IS DISTINCT
			FROM ends_at) END
		FROM unnest($2::text[]) AS name LEFT JOIN (
			SELECT parent, starts_at, ends_at, lead(starts_at) OVER (PARTITION BY parent ORDER BY starts_at) AS next_starts_at
			FROM partitions WHERE ends_at > $1) AS p ON parent = name
		GROUP BY name`, now, tables)
	if err != nil {
		return nil, Translate(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h Horizon, err error) {
		var until *time.Time
		err = row.Scan(&h.Table, &until)
		if until != nil {
			h.Until = *until
		}
		h.Posts = slices.Contains(leadTables, h.Table) || h.Table == ledgerEntries
		return h, err
	})
	return all, Translate(err)
}

// EnsurePartitions creates the missing partitions of all tables. It starts one day before the time now,
// so that requests around midnight find their partition. The parameter leads is the period that one
// partition of the lead tables covers.
func (db *DB) EnsurePartitions(ctx context.Context, now time.Time, leads PartitionUnit) error {
	if err := db.createPartitions(ctx, leadTables, leads, now, daysAhead); err != nil {
		return err
	}
	if err := db.createPartitions(ctx, ledgerTables, Monthly, now, daysAhead); err != nil {
		return err
	}
	return db.EnsurePingPartitions(ctx, now, PingDaysAhead)
}

// EnsurePingPartitions creates the missing daily partitions of the table pings. It starts one day
// before the time now, and ends the given number of days after it.
func (db *DB) EnsurePingPartitions(ctx context.Context, now time.Time, days int) error {
	return db.createPartitions(ctx, []string{pings}, Daily, now, days)
}

func (db *DB) createPartitions(
	ctx context.Context, tables []string, unit PartitionUnit, now time.Time, days int,
) error {
	_, err := db.changePartitions(ctx, `SELECT create_partitions($1, $2, $3, $4)`,
		tables, unit, now.AddDate(0, 0, -1), now.AddDate(0, 0, days))
	return err
}

// DropPingPartitions drops the partitions of days that ended before the given time, and returns how many
// it dropped. It drops each partition in its own transaction, so that locks are held only briefly. It
// never drops a partition that is less than a day old by the database's clock.
func (db *DB) DropPingPartitions(ctx context.Context, before time.Time) (dropped int64, err error) {
	rows, err := db.Pool.Query(ctx, `SELECT (ends_at AT TIME ZONE 'UTC')::date::text FROM partitions
		WHERE parent = 'pings' AND ends_at <= $1 ORDER BY ends_at`, before)
	if err != nil {
		return 0, Translate(err)
	}
	ends, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, Translate(err)
	}
	for _, end := range ends {
		n, err := db.changePartitions(ctx, `SELECT drop_ping_partitions($1::date)`, end)
		if err != nil {
			return dropped, err
		}
		dropped += n
	}
	return dropped, nil
}

// analyzeTimeout limits how long Postgres may take to collect statistics about one table.
const analyzeTimeout = "10min"

// AnalyzePartitions collects statistics about each partitioned table. It skips tables whose statistics
// were collected less than a day ago. It returns the number of tables for which it collected
// statistics.
func (db *DB) AnalyzePartitions(ctx context.Context) (analyzed int64, err error) {
	rows, err := db.Pool.Query(ctx, `SELECT DISTINCT parent FROM partitions ORDER BY parent`)
	if err != nil {
		return 0, Translate(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, Translate(err)
	}
	for _, table := range tables {
		var done bool
		err := pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = '`+analyzeTimeout+`'`); err != nil {
				return err
			}
			return tx.QueryRow(ctx, `SELECT analyze_partitions($1)`, table).Scan(&done)
		})
		if err != nil {
			return analyzed, Translate(err)
		}
		if done {
			analyzed++
		}
	}
	return analyzed, nil
}

// changePartitions calls a database function that creates or drops partitions, and returns its result.
// It waits for locks only briefly. If other transactions are using the tables, it tries again.
func (db *DB) changePartitions(ctx context.Context, sql string, args ...any) (n int64, err error) {
	for try := 1; ; try++ {
		err = pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true)`,
				partitionLockTimeout, partitionStatementTimeout); err != nil {
				return err
			}
			return tx.QueryRow(ctx, sql, args...).Scan(&n)
		})
		err = Translate(err)
		if failed, ok := errors.AsType[*Err](err); !ok || failed.SQLState != lockNotAvailable || try == partitionTries {
			return n, err
		}
		select {
		case <-time.After(partitionPause):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}
