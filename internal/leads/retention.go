package leads

import (
	"context"
	"time"

	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

// KeepBodyDigest is how long body digests are kept. During this time, a retry can be distinguished from a
// different post (decision 3).
const KeepBodyDigest = 24 * time.Hour

// DeleteExpiredBodies clears body_digest and answered_key of leads received more than KeepBodyDigest
// before now. Only retries need these columns. It returns the number of leads changed.
func (s *Store) DeleteExpiredBodies(ctx context.Context, now time.Time) (int64, error) {
	before := now.Add(-KeepBodyDigest)
	_, end := quote.IDRange(before, before)
	return postgres.InBatches(ctx, s.pool, `WITH old AS (
			SELECT k.lead_id FROM lead_keys k JOIN leads l ON l.id = k.lead_id
			WHERE k.lead_id < $1 AND l.id < $1 AND l.received_at < $2 AND k.body_digest IS NOT NULL LIMIT $3
			FOR UPDATE OF k SKIP LOCKED)
		UPDATE lead_keys k SET body_digest = NULL, answered_key = NULL FROM old WHERE k.lead_id = old.lead_id
		AND k.lead_id < $1`, end, before)
}

// DeleteSandbox deletes sandbox leads received before the given time, and returns how many it deleted
// (decision 25).
func (s *Store) DeleteSandbox(ctx context.Context, before time.Time) (int64, error) {
	var total int64
	for {
		var n int64
		err := s.pool.QueryRow(ctx, `SELECT delete_sandbox_leads($1, $2)`, before, postgres.Batch).Scan(&n)
		if err != nil {
			return total, postgres.Translate(err)
		}
		if total += n; n < postgres.Batch {
			return total, nil
		}
	}
}
