package payouts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// months returns the months that can contain entries that match the filter, newest first. The ledger has
// one partition for each month.
func (s *Service) months(ctx context.Context, q postgres.Querier, f Filter) ([]postgres.Period, error) {
	within := postgres.Period{From: f.From, Until: f.To}
	if f.Run != uuid.Nil {
		run, err := runPeriod(ctx, q, f.Run)
		if err != nil {
			return nil, err
		}
		if run.From.After(within.From) {
			within.From = run.From
		}
		if within.Until.IsZero() || run.Until.Before(within.Until) {
			within.Until = run.Until
		}
	}
	months, err := postgres.Partitions(ctx, q, "ledger_entries", within)
	if err != nil || f.Lead == uuid.Nil {
		return months, err
	}
	times, err := entryTimes(ctx, q, f.Lead)
	return slices.DeleteFunc(months, func(month postgres.Period) bool {
		return !slices.ContainsFunc(times,
			func(at time.Time) bool { return !at.Before(month.From) && at.Before(month.Until) })
	}), err
}

// runPeriod returns a period that contains the entries of a run. If the time of the first entry is
// unknown, the period's From is zero. If the run does not exist, the period is empty.
func runPeriod(ctx context.Context, q postgres.Querier, run uuid.UUID) (p postgres.Period, err error) {
	// An entry of the run occurred before the cutoff, or is a payment that occurred at paid_at.
	var from *time.Time
	err = q.QueryRow(ctx, `SELECT greatest(cutoff, paid_at + interval '1 microsecond'),
			(SELECT `+firstEntry+` FROM statements s WHERE s.run_id = r.id)
		FROM payout_runs r WHERE id = $1`, run).Scan(&p.Until, &from)
	if errors.Is(err, pgx.ErrNoRows) {
		return postgres.Period{From: time.Unix(1, 0), Until: time.Unix(0, 0)}, nil
	}
	if from != nil {
		p.From = *from
	}
	return p, err
}

// firstEntry is an SQL expression for the time of the earliest entry in a group of statements. It is
// NULL if any of the statements does not contain the time of its first entry.
const firstEntry = `CASE WHEN count(*) = count(first_entry_at) THEN min(first_entry_at) END`

// entryTimes returns the times of a lead's entries. The time of the accrual is the time when the lead
// was received.
func entryTimes(ctx context.Context, q postgres.Querier, lead uuid.UUID) ([]time.Time, error) {
	rows, err := q.Query(ctx, `SELECT received_at FROM leads WHERE id = $1 UNION ALL SELECT occurred_at FROM ledger_references WHERE lead_id = $1`,
		postgres.PlanEachTime, lead)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[time.Time])
}

// monthOf returns the index of the month that contains the given entry. If none of the months contains
// it, monthOf returns -1.
func (s *Service) monthOf(ctx context.Context, months []postgres.Period, entry int64) (int, error) {
	for _, window := range postgres.Windows(months) {
		span := postgres.Span(window)
		var at time.Time
		err := s.db.Pool.QueryRow(ctx, `SELECT occurred_at FROM ledger_entries WHERE id = $1 AND occurred_at >= $2 AND occurred_at < $3`,
			postgres.PlanEachTime, entry, span.From, span.Until).Scan(&at)
		if !errors.Is(err, pgx.ErrNoRows) {
			return slices.IndexFunc(months, func(m postgres.Period) bool { return !at.Before(m.From) && at.Before(m.Until) }),
				err
		}
	}
	return -1, nil
}

// entryQuery selects the first entries that match a filter, newest first or oldest first.
type entryQuery struct {
	filter      Filter
	scope       scope.Scope
	kinds       string            // an additional condition
	months      []postgres.Period // newest first
	month       int               // the index of the month to begin with, if after is set
	after       int64             // only entries that follow the entry with this id; 0 for all
	oldestFirst bool
	limit       int
}

// find returns the entries that a query selects. It reads groups of months until it has enough entries.
// Within a group, it reads each month in the order of the ids, up to the limit.
func (s *Service) find(ctx context.Context, q entryQuery) (all []Entry, err error) {
	months, order, compare, bound := q.months, "DESC", "<", int64(math.MaxInt64)
	if q.after > 0 {
		months = months[q.month:]
	}
	if q.oldestFirst {
		months, order, compare, bound = slices.Clone(q.months), "ASC", ">", 0
		if q.after > 0 {
			months = months[:q.month+1]
		}
		slices.Reverse(months)
	}
	for i, window := range postgres.Windows(months) {
		c := q.filter.conditions(q.scope, postgres.Span(window))
		if q.kinds != "" {
			c.sql = append(c.sql, q.kinds)
		}
		bounds := slices.Repeat([]int64{bound}, len(window))
		if i == 0 && q.after > 0 {
			bounds[0] = q.after
		}
		c.sql = append(c.sql, "e.occurred_at >= m.starts_at", "e.occurred_at < m.ends_at", "e.id "+compare+" m.bound")
		limit, n := q.limit-len(all), len(c.args)
		sql := fmt.Sprintf(`SELECT found.* FROM unnest($%d::timestamptz[], $%d::timestamptz[], $%d::bigint[]) AS m (starts_at, ends_at, bound)
			CROSS JOIN LATERAL (%s%s ORDER BY e.id %s LIMIT %d) AS found ORDER BY m.starts_at %s, found.id %s LIMIT %d`,
			n+1, n+2, n+3, entriesSQL, c.where(), order, limit, order, order, limit)
		starts, ends := make([]time.Time, len(window)), make([]time.Time, len(window))
		for j, month := range window {
			starts[j], ends[j] = month.From, month.Until
		}
		rows, err := s.db.Pool.Query(ctx, sql, append(c.planned(), starts, ends, bounds)...)
		if err != nil {
			return nil, err
		}
		found, err := collectEntries(rows)
		if err != nil {
			return nil, err
		}
		if all = append(all, found...); len(all) >= q.limit {
			break
		}
	}
	return all, setLeadTexts(ctx, s.db.Pool, all)
}
