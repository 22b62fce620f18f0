package leads

import (
	"context"
	"time"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/postgres"
)

const (
	// KeepBodyDigest is how long body digests are kept. During this time, a retry can be
	// distinguished from a different post (decision 3).
	KeepBodyDigest = 24 * time.Hour
	// KeepSandbox is how long sandbox leads are kept (decision 25).
	KeepSandbox = 7 * 24 * time.Hour
)

// DeleteExpiredBodies clears body_digest and answered_key in leads received more than KeepBodyDigest
// before now. Only retries need these columns. It returns the number of leads changed. Lead ids
// contain the time, so it can use the partial index on leads that still have a digest.
func (s *Store) DeleteExpiredBodies(ctx context.Context, now time.Time) (int64, error) {
	before := id.NewV7(now.Add(-KeepBodyDigest), [10]byte{})
	return postgres.InBatches(ctx, s.pool, `WITH old AS (
			SELECT id FROM leads WHERE id < $1 AND body_digest IS NOT NULL LIMIT $2 FOR UPDATE SKIP LOCKED)
		UPDATE leads l SET body_digest = NULL, answered_key = NULL FROM old WHERE l.id = old.id`, before)
}

// DeleteSandbox deletes sandbox leads older than KeepSandbox and returns how many it deleted.
func (s *Store) DeleteSandbox(ctx context.Context, now time.Time) (int64, error) {
	var total int64
	for {
		var n int64
		err := s.pool.QueryRow(ctx, `SELECT delete_sandbox_leads($1, $2)`, now.Add(-KeepSandbox), postgres.Batch).Scan(&n)
		if err != nil {
			return total, postgres.Translate(err)
		}
		if total += n; n < postgres.Batch {
			return total, nil
		}
	}
}
