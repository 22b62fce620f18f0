package leads

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pingpost/pingpost/internal/postgres"
)

// period is the time from one time until another, exclusive.
type period struct{ from, until time.Time }

// partitions returns the periods of the partitions of leads, oldest first.
func partitions(ctx context.Context, pool *pgxpool.Pool) ([]period, error) {
	rows, err := pool.Query(ctx, `SELECT starts_at, ends_at FROM partitions WHERE parent = 'leads' ORDER BY starts_at`)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p period, err error) {
		return p, row.Scan(&p.from, &p.until)
	})
	return all, postgres.Translate(err)
}

// maxPartitions is the maximum number of partitions that a query reads. Postgres plans and locks all
// of them, even if the first one has enough rows.
const maxPartitions = 32

// periods divides a period into the periods for which a search should read leads, one after the other,
// until it has found enough. The first one is about one partition long. The others get longer, so that
// a search through many years needs only a few queries. They are in descending order, or in ascending
// order if up is true.
func (o *Reader) periods(ctx context.Context, from, until time.Time, up bool) (parts []period, err error) {
	all, err := partitions(ctx, o.db.Pool)
	if err != nil {
		return nil, err
	}
	var cuts []time.Time // between partitions, without the partitions of the coming weeks
	for _, p := range all {
		if p.from.After(from) && p.from.Before(until) && p.from.Before(o.clock.Now()) {
			cuts = append(cuts, p.from)
		}
	}
	if !up {
		slices.Reverse(cuts)
	}
	left := period{from, until}
	for size := 1; size <= len(cuts); size = min(4*size, maxPartitions) {
		cut := cuts[size-1]
		cuts = cuts[size:]
		if up {
			parts = append(parts, period{left.from, cut})
			left.from = cut
		} else {
			parts = append(parts, period{cut, left.until})
			left.until = cut
		}
	}
	return append(parts, left), nil
}
