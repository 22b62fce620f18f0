package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Batch is how many rows retention changes in one statement: few enough for the
// statement's time-out, and to hold no lock for long.
const Batch = 5000

// InBatches runs a statement, $1 being bound and $2 the most rows that it may
// change, until it changes fewer, and returns how many it changed. What a batch
// has changed stays changed when a later one fails or ctx ends.
func InBatches(ctx context.Context, pool *pgxpool.Pool, sql string, bound any) (int64, error) {
	var total int64
	for {
		tag, err := pool.Exec(ctx, sql, bound, Batch)
		if err != nil {
			return total, Translate(err)
		}
		if total += tag.RowsAffected(); tag.RowsAffected() < Batch {
			return total, nil
		}
	}
}

// DeleteTrafficMinutes deletes the counters before the given moment, but for those that
// another node is deleting, and returns how many.
func (db *DB) DeleteTrafficMinutes(ctx context.Context, before time.Time) (int64, error) {
	return InBatches(ctx, db.Pool, `DELETE FROM traffic_minutes WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM traffic_minutes WHERE minute < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`, before)
}
