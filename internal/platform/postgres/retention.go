package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pingpost/pingpost/internal/base/id"
)

// Batch is the number of rows that retention changes in one statement. It is so small that a statement
// finishes before the timeout and holds its locks only briefly.
const Batch = 5000

// InBatches runs a statement until it changes fewer than Batch rows, and returns the total number of
// rows changed. The arguments of the statement are args, followed by Batch, which the statement must
// use as its limit. Finished batches stay committed if a later one fails or ctx ends.
func InBatches(ctx context.Context, pool *pgxpool.Pool, sql string, args ...any) (int64, error) {
	args = append(args, Batch)
	var total int64
	for {
		tag, err := pool.Exec(ctx, sql, args...)
		if err != nil {
			return total, Translate(err)
		}
		if total += tag.RowsAffected(); tag.RowsAffected() < Batch {
			return total, nil
		}
	}
}

// DeleteRequests deletes the requests before the given time from the request log, and returns their
// number.
func (db *DB) DeleteRequests(ctx context.Context, before time.Time) (int64, error) {
	return InBatches(ctx, db.Pool, `DELETE FROM api_requests WHERE id IN (
		SELECT id FROM api_requests WHERE at < $1 ORDER BY id LIMIT $2)`, before)
}

// DeletePostDurations deletes the durations of the posts that were received before the given time, and returns
// their number.
func (db *DB) DeletePostDurations(ctx context.Context, before time.Time) (int64, error) {
	return InBatches(ctx, db.Pool, `DELETE FROM post_durations WHERE request_id IN (
		SELECT request_id FROM post_durations WHERE request_id < $1 ORDER BY request_id LIMIT $2)`, id.First(before))
}

// DeleteTrafficMinutes deletes the traffic counters of all minutes before the given time, and returns
// their number. It skips counters that another node is deleting.
func (db *DB) DeleteTrafficMinutes(ctx context.Context, before time.Time) (int64, error) {
	return InBatches(ctx, db.Pool, `DELETE FROM traffic_minutes WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM traffic_minutes WHERE minute < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`, before)
}
