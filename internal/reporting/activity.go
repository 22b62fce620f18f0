package reporting

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/scope"
)

// ActivityItem is a stored lead or a rejected request. For a rejected request, only At, Request,
// Endpoint, Outcome and Fields are set.
type ActivityItem struct {
	At       time.Time
	Lead     uuid.UUID
	Account  uuid.UUID
	Sandbox  bool
	Secret   uuid.UUID // uuid.Nil if the post was not signed
	Price    money.Amount
	Industry string

	Request           uuid.UUID
	Endpoint, Outcome string
	Code              string // of the response
	Fields            []string
}

// Activity returns a partner's newest leads and rejected requests since the given time, newest first: up to n
// leads, and up to n requests of each kind. Requests that anyone can send therefore hide no leads and no signed
// posts (decision 65).
func (in *Reader) Activity(
	ctx context.Context, sc scope.Scope, partner uuid.UUID, since time.Time, n int,
) ([]ActivityItem, error) {
	first, _ := quote.IDRange(since, since)
	leads, err := ofPartner[storedLead](ctx, in.db, sc, partner, `SELECT received_at, id, account_id, sandbox, coalesce(secret_id, $4), price_minor, currency, industry
		FROM leads WHERE partner_id = $1 AND received_at >= $2 AND id >= $5 ORDER BY received_at DESC, id DESC LIMIT $3`, since, n, uuid.Nil, first)
	if err != nil {
		return nil, err
	}
	rejected, err := ofPartner[rejectedRequest](ctx, in.db, sc, partner, `SELECT at, request_id, endpoint, outcome, code, fields
		FROM (
			SELECT id, at, request_id, endpoint, outcome, code, fields,
				row_number() OVER (PARTITION BY kind ORDER BY id DESC) AS place
			FROM api_requests WHERE partner_id = $1 AND at >= $2 AND status >= 400
		) AS r
		WHERE place <= $3 ORDER BY id DESC`, since, n)
	if err != nil {
		return nil, err
	}
	all := make([]ActivityItem, 0, len(leads)+len(rejected))
	for _, l := range leads {
		currency, err := money.ParseCurrency(l.Currency)
		if err != nil {
			return nil, err
		}
		all = append(all, ActivityItem{
			At: l.At, Lead: l.ID, Account: l.Account, Sandbox: l.Sandbox, Secret: l.Secret,
			Price: money.Amount{Minor: l.Minor, Currency: currency}, Industry: l.Industry,
		})
	}
	for _, r := range rejected {
		all = append(all, ActivityItem{
			At:       r.At,
			Request:  r.Request,
			Endpoint: r.Endpoint,
			Outcome:  r.Outcome,
			Code:     r.Code,
			Fields:   r.Fields,
		})
	}
	slices.SortStableFunc(all, func(a, b ActivityItem) int { return b.At.Compare(a.At) })
	return all, nil
}

type storedLead struct {
	At                 time.Time
	ID, Account        uuid.UUID
	Sandbox            bool
	Secret             uuid.UUID
	Minor              int64
	Currency, Industry string
}

type rejectedRequest struct {
	At                time.Time
	Request           uuid.UUID
	Endpoint, Outcome string
	Code              string // of the response
	Fields            []string
}
