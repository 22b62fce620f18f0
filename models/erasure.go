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
	EraseForOther     ErasureReason = "other" // explained in the note
)

// ErasureEntry is an entry of the erasure journal, as the database stores it.
type ErasureEntry struct {
	Sequence    int64 `gorm:"primaryKey"`
	Hash        []byte
	Body        []byte // the entry as it is written to the journal
	Reason      ErasureReason
	Actor       string
	StaffID     *uuid.UUID // nil on the command line
	RequestedAt time.Time
	ErasedAt    *time.Time // nil while the erasure is pending
}

// Erasure links a lead to the entry in the erasure journal that records its erasure.
type Erasure struct {
	LeadID   uuid.UUID `gorm:"primaryKey"`
	Sequence int64
	Note     string // must not identify the consumer
}
