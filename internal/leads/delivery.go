package leads

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/models"
)

// DeliverTimeout is the maximum duration of a delivery or a lookup. A post may take five seconds in
// total (decision 27), so one second is left for the rest of the request.
const DeliverTimeout = 4 * time.Second

// readBackTimeout is the part of DeliverTimeout that is reserved for checking whether a group was
// committed, if the database's response was lost.
const readBackTimeout = time.Second

// Delivery is the data that is stored for a post, in one database transaction together with a ledger
// entry.
type Delivery struct {
	Lead    models.Lead
	Key     models.LeadKey
	Consent models.Consent
	Event   models.LeadEvent
	// WrappingKey is the key of Key.KeyWrapper that wrapped the data key (see envelope.WrappingKey). It is
	// not stored.
	WrappingKey string
}

// Receipt is the data for the response to a post. It is the same for every replay.
type Receipt struct {
	LeadID     uuid.UUID
	PartnerID  uuid.UUID
	Sandbox    bool
	Payout     money.Amount
	ReceivedAt time.Time
	Envelope   envelope.Envelope // without the salt
	BodyDigest []byte            // deleted after KeepBodyDigest

	attemptID uuid.UUID
}

// These errors mean that the sender is no longer active, although it was still active in the node's
// directory of partners (decision 21). Nothing was stored.
var (
	ErrInactive       = errors.New("the partner or account is not active")
	ErrInactiveSecret = errors.New("the secret is not active")
)

// errUnregistered means that the key that wrapped the data key is not registered (decision 55). Nothing
// was stored.
var errUnregistered = errors.New("the wrapping key is not registered: use the platform's key, or run `pingpost keys introduce`")

func (d *Delivery) receipt() (Receipt, error) {
	currency, err := money.ParseCurrency(d.Lead.Currency)
	l := &d.Lead
	return Receipt{
		LeadID: l.ID, attemptID: l.AttemptID, PartnerID: l.PartnerID, Sandbox: l.Sandbox,
		Payout: money.Amount{Minor: l.PriceMinor, Currency: currency}, ReceivedAt: l.ReceivedAt, BodyDigest: d.Key.BodyDigest,
		Envelope: envelope.Envelope{Ciphertext: l.Ciphertext, IV: l.IV, AuthTag: l.AuthTag, Wrapped: d.Key.WrappedKey},
	}, err
}
