package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// PlanEachTime makes Postgres plan a query again for each set of arguments. Pass it as the first
// argument of a query on a partitioned table. Otherwise, Postgres may cache one plan for all sets of
// arguments, and such a plan locks all partitions.
const PlanEachTime = pgx.QueryExecModeCacheDescribe

// SetPlanEachTime is an SQL statement that has the effect of PlanEachTime for the rest of a transaction.
const SetPlanEachTime = `SET LOCAL plan_cache_mode = force_custom_plan`

// Period is a range of time. It contains From, but not Until.
type Period struct{ From, Until time.Time }

// Querier runs queries. It is a pool, a connection or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Partitions returns the periods of a table's partitions that overlap the given period, newest first. If
// From or Until is zero, the period has no limit on that side.
func Partitions(ctx context.Context, q Querier, table string, within Period) ([]Period, error) {
	rows, err := q.Query(ctx, `SELECT starts_at, ends_at FROM partitions
		WHERE parent = $1 AND ($2::timestamptz IS NULL OR ends_at > $2) AND ($3::timestamptz IS NULL OR starts_at < $3)
		ORDER BY starts_at DESC`,
		table, optional(within.From), optional(within.Until))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Period, err error) {
		err = row.Scan(&p.From, &p.Until)
		return p, err
	})
}

func optional(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

// windowSizes are the numbers of partitions in the first four windows. Each later window is as large
// as the fourth.
var windowSizes = []int{1, 4, 16, 32}

// Windows divides a list of partitions into windows, without changing the order of the partitions. The
// first three windows contain 1, 4 and 16 partitions, and all others contain 32. A search that reads
// one window at a time usually ends in the first window. If it has to read more windows, the number of
// statements is still small, and no statement plans or locks more than 32 partitions.
func Windows(partitions []Period) (windows [][]Period) {
	for len(partitions) > 0 {
		n := min(windowSizes[min(len(windows), len(windowSizes)-1)], len(partitions))
		windows, partitions = append(windows, partitions[:n:n]), partitions[n:]
	}
	return windows
}

// Span returns the period from the start of the earliest period to the end of the latest one.
func Span(all []Period) Period {
	return Period{
		From:  slices.MinFunc(all, func(a, b Period) int { return a.From.Compare(b.From) }).From,
		Until: slices.MaxFunc(all, func(a, b Period) int { return a.Until.Compare(b.Until) }).Until,
	}
}

// Releasing runs fn in a savepoint of tx and then rolls the savepoint back, which releases the locks
// that fn took. The function fn must not change any data, because its changes would be lost.
func Releasing(ctx context.Context, tx pgx.Tx, fn func(pgx.Tx) error) error {
	savepoint, err := tx.Begin(ctx)
	if err != nil {
		return err
	}
	if err := fn(savepoint); err != nil {
		return err
	}
	return savepoint.Rollback(ctx)
}
