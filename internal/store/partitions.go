package store

import (
	"context"
	"time"
)

// EnsurePingPartitions makes the day partitions of pings from the day before
// now, for requests that straddle midnight, to so many days ahead.
func (db *DB) EnsurePingPartitions(ctx context.Context, now time.Time, days int) error {
	_, err := db.Pool.Exec(ctx, `SELECT ensure_ping_partitions($1::date, $2)`, now.AddDate(0, 0, -1).Format(time.DateOnly), days+2)
	return Translate(err)
}

// DropPingPartitions drops whole days before the given moment and returns how
// many. The database refuses to drop what is younger than a day by its own clock.
func (db *DB) DropPingPartitions(ctx context.Context, before time.Time) (int64, error) {
	var n int64
	err := db.Pool.QueryRow(ctx, `SELECT drop_ping_partitions($1::date)`, before.Format(time.DateOnly)).Scan(&n)
	return n, Translate(err)
}

// DeleteTraffic deletes the counters before the given moment, but for those that
// another node is deleting, and returns how many.
func (db *DB) DeleteTraffic(ctx context.Context, before time.Time) (int64, error) {
	return InBatches(ctx, db.Pool, `DELETE FROM traffic_minutes WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM traffic_minutes WHERE minute < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`, before)
}
