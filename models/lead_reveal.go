package models

import (
	"time"

	"github.com/google/uuid"
)

// ContactField is a field of a lead's contact record.
type ContactField string

const (
	ContactEmail   ContactField = "email"
	ContactName    ContactField = "name"
	ContactPhone   ContactField = "phone"
	ContactAddress ContactField = "address"
	ContactNotes   ContactField = "notes"
	ContactAnswers ContactField = "answers"
)

// RevealReason is the reason why a user reveals a field of a contact record.
type RevealReason string

const (
	RevealForReturn    RevealReason = "return"
	RevealForComplaint RevealReason = "complaint"
	RevealForRequest   RevealReason = "request" // the consumer requested it
	RevealForLegal     RevealReason = "legal"
	RevealForOther     RevealReason = "other" // explained in the note
)

// LeadReveal records that a user revealed a field of a contact record.
type LeadReveal struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	LeadID    uuid.UUID
	PartnerID uuid.UUID
	StaffID   *uuid.UUID // nil on the command line
	Actor     string
	Field     ContactField
	Reason    RevealReason
	Note      string // may contain personal data
	At        time.Time
}
