package postgres

import (
	"context"

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
