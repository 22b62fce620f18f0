package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// partitionLockTimeout is how long a change of the partitions may wait for its
	// lock: the recorder's COPY queues behind one that waits. A backup or a long
	// report holds the lock for longer, so the change is tried again.
	partitionLockTimeout = "200ms"
	partitionPause       = time.Second // between tries; COPY goes on in it
	partitionTries       = 20

	lockNotAvailable = "55P03"
)

// EnsurePingPartitions makes the day partitions of pings from the day before
// now, for requests that straddle midnight, to so many days ahead.
func (db *DB) EnsurePingPartitions(ctx context.Context, now time.Time, days int) error {
	_, err := db.changePartitions(ctx, `SELECT ensure_ping_partitions($1::date, $2)`,
		now.AddDate(0, 0, -1).Format(time.DateOnly), days+2)
	return err
}

// DropPingPartitions drops whole days before the given moment and returns how
// many, each in a transaction of its own, so that the lock is held briefly. The
// database refuses to drop what is younger than a day by its own clock.
func (db *DB) DropPingPartitions(ctx context.Context, before time.Time) (dropped int64, err error) {
	rows, err := db.Pool.Query(ctx, `SELECT (to_date(right(c.relname, 8), 'YYYYMMDD') + 1)::text
		FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = 'pings'::regclass AND c.relname < 'pings_' || to_char($1::date, 'YYYYMMDD')
		ORDER BY c.relname`, before.Format(time.DateOnly))
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

// changePartitions runs a function that changes the partitions of pings and
// returns its result. It never waits long for a lock; while another transaction
// uses the tables it tries again, 20 times in all.
func (db *DB) changePartitions(ctx context.Context, sql string, args ...any) (n int64, err error) {
	for try := 1; ; try++ {
		err = pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '`+partitionLockTimeout+`'`); err != nil {
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
