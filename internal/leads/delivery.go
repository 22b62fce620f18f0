package leads

import (
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/envelope"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/models"
)

// DeliverTimeout bounds a delivery and a lookup. It leaves a post's answer a second of the
// 5 that it may take (decision 27).
const DeliverTimeout = 4 * time.Second

// readBackTimeout is the part of DeliverTimeout that is kept for the read-back of a commit
// whose outcome is unknown.
const readBackTimeout = time.Second

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
// the directory's look and the database's (decision 21). Nothing was stored.
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
