package models

import (
	"time"

	"github.com/google/uuid"
)

// LeadState is the state of a lead. An erased lead has no contact record and no key.
type LeadState string

const (
	LeadDelivered LeadState = "delivered"
	LeadErased    LeadState = "erased"
)

// Lead is a stored lead with its quote and its encrypted contact record.
type Lead struct {
	ID            uuid.UUID `gorm:"primaryKey"` // the transaction's UUIDv7, which contains the time of the ping
	AttemptID     uuid.UUID // random; identifies the stored post among all posts for the transaction
	TransactionID string    // as the partner received it
	PartnerID     uuid.UUID
	AccountID     uuid.UUID
	SecretID      *uuid.UUID
	HMACVerified  bool `gorm:"column:hmac_verified"`
	Sandbox       bool
	State         LeadState

	PriceMinor     int64
	Currency       string
	Industry       string
	TermID         int
	Urgency        string
	CardVersion    int
	QuotedPartner  *uuid.UUID
	QuotedCountry  string
	QuotedPostcode string
	QuotedAt       time.Time
	ReceivedAt     time.Time

	PartnerReference string // "" if the partner sent none, or the lead was erased
	SubID            string // the same

	Country      string
	Postcode     string
	EmailDigest  []byte
	PhoneDigest  []byte
	PhoneFlagged bool

	Ciphertext []byte
	IV         []byte
	AuthTag    []byte
}

// LeadKey contains the wrapped key of a lead. A lead without a LeadKey cannot be decrypted.
type LeadKey struct {
	LeadID     uuid.UUID `gorm:"primaryKey"`
	Salt       []byte
	WrappedKey []byte
	KeyWrapper string
	KeyVersion string
	BodyDigest []byte // deleted after 24 hours
}

// Consent is the immutable record that the consumer agreed to be contacted.
type Consent struct {
	LeadID           uuid.UUID `gorm:"primaryKey"`
	PartnerID        uuid.UUID
	Acknowledged     bool
	AcknowledgedAt   *time.Time // nil if no time was sent, or if it has no UTC offset
	AcknowledgedText *string    // the time as sent
	DisclosureDigest []byte     // identifies the Disclosure; nil if the partner sent no text
	DisclosureText   *string    `gorm:"-"` // Text of the Disclosure
	RecipientHash    *string
	FormCertURL      *string `gorm:"column:form_cert_url"`
	ThirdPartyLeadID *string
	Sandbox          bool
	ReceivedAt       time.Time
}

// Disclosure is a text that consumers agreed to. Each different text is stored once.
type Disclosure struct {
	ID           uuid.UUID `gorm:"primaryKey"`
	Digest       []byte    // SHA-256 of the text that the partner sent
	Text         string
	PartnerID    uuid.UUID // the first partner that sent it
	FirstUsedAt  time.Time
	Standard     bool // so many people agreed to it that it cannot identify any of them
	ReplacedAt   *time.Time
	ReplacedBy   string // "" if the text was not replaced
	ReplacedByID *uuid.UUID
}

// LeadEventKind is the kind of an event in a lead's timeline.
type LeadEventKind string

const (
	EventDelivered LeadEventKind = "delivered"
	EventReturned  LeadEventKind = "returned"
)

// LeadEvent is an event in a lead's timeline.
type LeadEvent struct {
	ID     int64 `gorm:"primaryKey;autoIncrement"`
	LeadID uuid.UUID
	Kind   LeadEventKind
	Detail string `gorm:"type:jsonb;default:'{}'"`
	At     time.Time
}
