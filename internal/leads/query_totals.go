package leads

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// MaxCounted is the maximum number of leads that Totals examines.
const MaxCounted = 10_000

// Totals contains the number of leads that match a query, and the sums of their prices by currency. Sums do not
// include sandbox leads, which earn nothing.
type Totals struct {
	Count int64
	Sums  []money.Amount // in the order of money.Currencies; empty if More is set
	// More is set if Totals examined only the newest MaxCounted leads of the query's partners and period. If the query
	// has other filters, Count is the number of matching leads among these leads.
	More bool
}

// Totals returns the totals of the leads in the scope that match a query. It ignores the query's cursors and size.
func (r *Reader) Totals(ctx context.Context, sc scope.Scope, q Query) (t Totals, err error) {
	q.Before, q.After = Cursor{}, Cursor{}
	w, err := r.window(ctx, sc, q)
	if err != nil || w.empty() {
		return t, err
	}
	parts, err := r.split(ctx, w)
	if err != nil {
		return t, err
	}
	sums, left := map[money.Currency]int64{}, int64(MaxCounted)
	for _, part := range parts {
		examined, err := r.addTotals(ctx, part, q, left, &t, sums)
		if err != nil {
			return t, err
		}
		if t.More = examined > left; t.More {
			t.Count = min(t.Count, MaxCounted)
			return t, nil
		}
		left -= examined
	}
	for _, currency := range money.Currencies {
		if minor, found := sums[currency]; found {
			t.Sums = append(t.Sums, money.Amount{Minor: minor, Currency: currency})
		}
	}
	return t, nil
}

// addTotals adds the totals of one period. It examines at most one lead more than the parameter left, and returns
// the number of leads that it examined.
func (r *Reader) addTotals(
	ctx context.Context, w window, q Query, left int64, t *Totals, sums map[money.Currency]int64,
) (examined int64, err error) {
	c := w.conditions()
	all := w.each(c,
		"SELECT one.id, one.account_id, one.industry, one.country, one.state, one.sandbox, one.currency, one.price_minor",
		"l.id, l.account_id, l.industry, l.country, l.state, l.sandbox, l.currency, l.price_minor", int(left)+1)
	shared := len(c.sql)
	c.filter(q)
	matching := strings.Join(append([]string{"true"}, c.sql[shared:]...), " AND ")
	rows, err := r.db.Pool.Query(ctx, fmt.Sprintf(`WITH examined AS MATERIALIZED (%s LIMIT %d)
		SELECT (SELECT count(*) FROM examined), coalesce(m.currency, ''), coalesce(m.leads, 0), coalesce(m.minor, 0)
		FROM (SELECT) one LEFT JOIN (
			SELECT l.currency, count(*) AS leads, sum(l.price_minor) FILTER (WHERE NOT l.sandbox)::bigint AS minor
			FROM examined l WHERE %s GROUP BY l.currency) m ON true`, all, left+1, matching),
		append([]any{postgres.PlanEachTime}, c.args...)...)
	if err != nil {
		return 0, postgres.Translate(err)
	}
	var code string
	var leads, minor int64
	_, err = pgx.ForEachRow(rows, []any{&examined, &code, &leads, &minor}, func() error {
		if leads == 0 {
			return nil
		}
		currency, err := money.ParseCurrency(code)
		t.Count += leads
		if minor > 0 {
			sums[currency] += minor
		}
		return err
	})
	return examined, postgres.Translate(err)
}
