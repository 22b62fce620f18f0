// Package reporting calculates totals of pings, posts, rejections and payouts for a time range. It
// reads the traffic counters and the ledger, which other packages write.
package reporting

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Range is a time range that is divided into steps of equal length. From is the start of a step.
type Range struct {
	From, Until time.Time
	Step        time.Duration
}

// LastSteps returns a range that ends at the time now and has the given number of steps. The last step
// can be incomplete.
func LastSteps(now time.Time, step time.Duration, steps int) Range {
	first := now.UTC().Truncate(step).Add(-time.Duration(steps-1) * step)
	return Range{From: first, Until: now, Step: step}
}

// Previous returns the range to compare with: the same times of the days before, or the hour before if the steps are
// minutes. This way, a range that ends now is compared with one that ended at the same time of day. The result ends at a
// whole minute.
func (r Range) Previous() Range {
	unit := 24 * time.Hour
	if r.Step < time.Hour {
		unit = time.Hour
	}
	shift := unit
	for r.Until.Add(-shift).After(r.From) {
		shift += unit
	}
	return Range{From: r.From.Add(-shift), Until: r.Until.Add(-shift).Truncate(time.Minute), Step: r.Step}
}

func (r Range) steps() (all []Step) {
	for at := r.From; at.Before(r.Until); at = at.Add(r.Step) {
		all = append(all, Step{At: at})
	}
	return all
}

// Step is the traffic in one step of a range.
type Step struct {
	At           time.Time
	Pings, Posts int64
}

// RejectionCount is the number of requests that an endpoint rejected for one reason.
type RejectionCount struct {
	Endpoint, Reason string
	Count            int64
}

// Payout is the sum of accruals in one currency. Returns and payments are not included.
type Payout struct {
	Amount money.Amount
	Leads  int64
}

// Totals contains numbers of requests. Sandbox accounts are excluded (decision 25).
type Totals struct {
	Pings     int64 // all pings, including rejected ones
	Priced    int64
	Posts     int64 // all posts, including retries and rejected ones
	Replayed  int64 // retries that got the leadId of their delivered lead
	Delivered int64 // leads
}

// Figures contains the totals of a range. Sandbox accounts are excluded (decision 25).
type Figures struct {
	Totals
	Steps      []Step // all steps, including those without traffic
	Rejections []RejectionCount
	Payouts    []Payout
}

// Figures returns the totals of a range for the partners in the scope.
func (r *Reader) Figures(ctx context.Context, sc scope.Scope, within Range) (f Figures, err error) {
	if err := f.readTraffic(ctx, r.db, sc, within); err != nil {
		return f, postgres.Translate(err)
	}
	return f, postgres.Translate(f.readPayouts(ctx, r.db, sc, within))
}

// Totals returns the numbers of requests in a range for the partners in the scope. It returns nil if requests were not
// counted yet when the range began, or if the counts of that time have already been deleted.
func (r *Reader) Totals(ctx context.Context, sc scope.Scope, within Range) (*Totals, error) {
	var counted bool
	err := r.db.Pool.QueryRow(ctx, `SELECT coalesce(min(minute) <= $1, false) FROM traffic_minutes`, within.From).
		Scan(&counted)
	if err != nil || !counted {
		return nil, postgres.Translate(err)
	}
	var f Figures
	err = f.readTraffic(ctx, r.db, sc, within)
	return &f.Totals, postgres.Translate(err)
}

func (f *Figures) readTraffic(ctx context.Context, db *postgres.DB, sc scope.Scope, r Range) error {
	f.Steps = r.steps()
	rows, err := db.Pool.Query(ctx, `SELECT floor(extract(epoch FROM minute - $1) / $3)::int, endpoint, outcome, sum(count)::bigint FROM traffic_minutes t
		WHERE minute >= $1 AND minute < $2 AND ($4 OR partner_id = ANY ($5))
			AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = t.account_id AND a.sandbox)
		GROUP BY 1, 2, 3`, r.From, r.Until, r.Step.Seconds(), sc.All(), ids(sc))
	if err != nil {
		return err
	}
	defer rows.Close()
	rejected := map[RejectionCount]int64{}
	for rows.Next() {
		var step int
		var endpoint, outcome string
		var n int64
		if err := rows.Scan(&step, &endpoint, &outcome, &n); err != nil {
			return err
		}
		if endpoint == "ping" {
			f.Pings += n
			f.Steps[step].Pings += n
		} else {
			f.Posts += n
			f.Steps[step].Posts += n
		}
		switch models.KindOf(outcome) {
		case models.KindPriced:
			f.Priced += n
		case models.KindUnpriced: // counts neither as priced nor as rejected
		case models.KindDelivered:
			f.Delivered += n
		case models.KindReplayed:
			f.Replayed += n
		case models.KindRejected:
			rejected[RejectionCount{Endpoint: endpoint, Reason: outcome}] += n
		}
	}
	for key, n := range rejected {
		key.Count = n
		f.Rejections = append(f.Rejections, key)
	}
	slices.SortFunc(f.Rejections, func(a, b RejectionCount) int {
		if a.Count != b.Count {
			return int(b.Count - a.Count)
		}
		return strings.Compare(a.Endpoint+a.Reason, b.Endpoint+b.Reason)
	})
	return rows.Err()
}

func (f *Figures) readPayouts(ctx context.Context, db *postgres.DB, sc scope.Scope, r Range) error {
	rows, err := db.Pool.Query(ctx, `SELECT currency, sum(amount_minor)::bigint, count(*) FROM ledger_entries
		WHERE kind = 'accrual' AND occurred_at >= $1 AND occurred_at < $2 AND ($3 OR partner_id = ANY ($4))
		GROUP BY currency ORDER BY currency`, postgres.PlanEachTime, r.From, r.Until, sc.All(), ids(sc))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var code string
		var p Payout
		if err := rows.Scan(&code, &p.Amount.Minor, &p.Leads); err != nil {
			return err
		}
		if p.Amount.Currency, err = money.ParseCurrency(code); err != nil {
			return err
		}
		f.Payouts = append(f.Payouts, p)
	}
	return rows.Err()
}

// ids returns the scope's ids. The result is never nil, because nil becomes NULL in SQL.
func ids(sc scope.Scope) []uuid.UUID { return append([]uuid.UUID{}, sc.IDs()...) }
