package models

import (
	"time"

	"github.com/google/uuid"
)

// ErasureReason is the reason why the personal data of leads is erased.
type ErasureReason string

const (
	EraseForRequest   ErasureReason = "request" // the consumer requested it (GDPR article 17)
	EraseForComplaint ErasureReason = "complaint"
	EraseForNoConsent ErasureReason = "no_consent"
	EraseForLegal     ErasureReason = "legal"
	EraseForOther     ErasureReason = "other"     // explained in the note
	EraseForRetention ErasureReason = "retention" // the retention period has passed; not offered to staff
)

// ErasureEntry is an entry of the erasure journal, as the database stores it.
type ErasureEntry struct {
	Sequence     int64 `gorm:"primaryKey"`
	Hash         []byte
	Body         []byte // the entry as it is written to the journal
	Key          []byte // the public key that verifies the next entry
	Reason       ErasureReason
	Actor        string
	StaffID      *uuid.UUID // nil on the command line
	RequestedAt  time.Time
	KeepsConsent bool       // the details of the consents are not erased
	ErasedAt     *time.Time // nil while the erasure is pending
}

// Erasure links a lead to an entry in the erasure journal that records its erasure. If that entry keeps
// the consent's details, a later entry can contain the lead again.
type Erasure struct {
	LeadID   uuid.UUID `gorm:"primaryKey"`
	Sequence int64     `gorm:"primaryKey"`
	Note     string    // must not identify the consumer
}
