package reporting

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

// RecentLead is a stored lead.
type RecentLead struct {
	At          time.Time
	ID, Account uuid.UUID
	Sandbox     bool
	Secret      uuid.UUID // uuid.Nil if the post was not signed
	Price       money.Amount
	Industry    string
}

// RecentLeads returns a partner's newest n leads since the given time, newest first.
func (r *Reader) RecentLeads(
	ctx context.Context, sc scope.Scope, partner uuid.UUID, since time.Time, n int,
) ([]RecentLead, error) {
	first, _ := quote.IDRange(since, since)
	leads, err := ofPartner[storedLead](ctx, r.db, sc, partner, `SELECT received_at, id, account_id, sandbox, coalesce(secret_id, $4), price_minor, currency, industry
		FROM leads WHERE partner_id = $1 AND received_at >= $2 AND id >= $5 ORDER BY received_at DESC, id DESC
		LIMIT $3`, since, n, uuid.Nil, first)
	if err != nil {
		return nil, err
	}
	all := make([]RecentLead, 0, len(leads))
	for _, l := range leads {
		currency, err := money.ParseCurrency(l.Currency)
		if err != nil {
			return nil, err
		}
		all = append(all, RecentLead{
			At: l.At, ID: l.ID, Account: l.Account, Sandbox: l.Sandbox, Secret: l.Secret,
			Price: money.Amount{Minor: l.Minor, Currency: currency}, Industry: l.Industry,
		})
	}
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
