// Package leads owns stored leads: putting one in, once; finding one again; and
// letting go of what may not be kept.
//
// Its times: quoted_at is the ping's moment, received_at the post's, both by the
// service's clock. A lead's id is a UUIDv7 of received_at.
package leads

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/envelope"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/models"
)

// Store keeps leads in the database.
type Store struct {
	pool      *pgxpool.Pool
	statement statement
	group     *batcher
}

// NewStore uses the service's pool.
func NewStore(pool *pgxpool.Pool) *Store { return newStore(pool, groupSize, writers) }

// NewUnbatchedStore gives each post a transaction of its own, and as many at once as
// the pool has connections. It is what sharing is measured against.
func NewUnbatchedStore(pool *pgxpool.Pool) *Store {
	return newStore(pool, 1, int(pool.Config().MaxConns))
}

func newStore(pool *pgxpool.Pool, size, writers int) *Store {
	s := &Store{pool: pool, statement: newStatement()}
	s.group = newBatcher(size, writers, s.commit)
	return s
}

// Delivery is all that a post stores, at once or not at all.
type Delivery struct {
	Lead    models.Lead
	Consent models.Consent
	Event   models.LeadEvent
}

// Receipt is what a delivered transaction answers, the first time and every time.
type Receipt struct {
	LeadID     uuid.UUID
	PartnerID  uuid.UUID
	Payout     money.Amount
	ReceivedAt time.Time
	Envelope   envelope.Envelope // without the salt
	BodyDigest []byte            // nil once it has been forgotten
}

// ErrInactive says that partner, account or secret stopped being active between
// the directory's look and the database's (D21). Nothing was stored.
var ErrInactive = apperr.New(apperr.Unauthorized, "inactive", "Invalid HMAC SHA-256 signature")

// receipt is the answer to the post that stored the lead.
func (d *Delivery) receipt() (Receipt, error) {
	currency, err := money.ParseCurrency(d.Lead.Currency)
	l := &d.Lead
	return Receipt{
		LeadID: l.ID, PartnerID: l.PartnerID, Payout: money.Amount{Minor: l.PriceMinor, Currency: currency},
		ReceivedAt: l.ReceivedAt, BodyDigest: l.BodyDigest,
		Envelope: envelope.Envelope{Ciphertext: l.Ciphertext, IV: l.IV, AuthTag: l.AuthTag, Wrapped: l.WrappedKey},
	}, err
}
