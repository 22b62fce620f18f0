package models

import (
	"time"

	"github.com/google/uuid"
)

// RetentionCategory is a category of data whose retention period depends on the lead's country.
type RetentionCategory string

const (
	RetainContact RetentionCategory = "contact" // the contact record
	RetainConsent RetentionCategory = "consent" // the details of the consent
)

// RetentionPeriod is a retention period in effect, with its progress.
type RetentionPeriod struct {
	Category     RetentionCategory `gorm:"primaryKey"`
	Country      string            `gorm:"primaryKey"` // "" for all countries without a period of their own
	Days         int               // since the receipt of the lead; 0 means until erased
	Position     uuid.UUID         // leads up to this id have been erased, or are deferred
	AcceptedAt   time.Time
	AcceptedBy   string // "" if the period took effect on its own
	AcceptedByID *uuid.UUID
}

// RetentionRun is a daily run that erases leads whose retention period has passed.
type RetentionRun struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	StartedAt time.Time
	EndedAt   *time.Time
	Erased    map[RetentionCategory]map[string]int64 `gorm:"serializer:json"` // numbers of leads by country
}

// RetentionDeferred is a lead under a legal hold whose retention period has passed.
type RetentionDeferred struct {
	Category RetentionCategory `gorm:"primaryKey"`
	LeadID   uuid.UUID         `gorm:"primaryKey"`
}

// TableName returns the name of the table.
func (RetentionDeferred) TableName() string { return "retention_deferred" }

// LegalHold is a legal hold. It prevents the erasure of a lead or, if Person is set, of all leads with the
// same email address or phone number. The digests are in the database, but not in this model.
type LegalHold struct {
	ID           uuid.UUID `gorm:"primaryKey"`
	LeadID       uuid.UUID
	PartnerID    uuid.UUID
	Person       bool
	Reason       string // must not identify the consumer
	PlacedAt     time.Time
	PlacedBy     string
	PlacedByID   *uuid.UUID
	ReleasedAt   *time.Time
	ReleasedBy   string
	ReleasedByID *uuid.UUID
}
