// Package leads stores leads exactly once, finds them, and deletes data whose retention period has
// ended.
//
// quoted_at is the time of the ping, and received_at is the time of the post. Both come from the
// service's clock. A lead's id is its transaction's UUIDv7, which contains quoted_at (decision 32). The
// tables are partitioned by this id (decision 48), so a query that limits received_at to a period also
// limits the id (see quote.IDRange).
package leads

import "github.com/jackc/pgx/v5/pgxpool"

// Store stores leads in the database.
type Store struct {
	pool      *pgxpool.Pool
	statement deliverStatement
	group     *batcher
	cached    cachedTexts
	failures  failures
	stored    storedCounter
}
