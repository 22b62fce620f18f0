package models

import (
	"time"

	"github.com/google/uuid"
)

// ReconciliationState is where a reconciliation is.
type ReconciliationState string

const (
	ReconciliationUploaded  ReconciliationState = "uploaded"
	ReconciliationComparing ReconciliationState = "comparing"
	ReconciliationCompared  ReconciliationState = "compared" // a dry run: not kept yet
	ReconciliationKept      ReconciliationState = "kept"
	ReconciliationDiscarded ReconciliationState = "discarded"
)

// Reconciliation is a partner's own list beside the ledger. Profile, Mapping and Result
// are JSON that package reconcile writes.
type Reconciliation struct {
	ID         uuid.UUID `gorm:"primaryKey"`
	PartnerID  uuid.UUID
	FileID     *uuid.UUID
	FileName   string
	FileSize   int64
	FileSHA256 []byte     `gorm:"column:file_sha256"`
	Profile    string     `gorm:"type:jsonb"`
	Mapping    *string    `gorm:"type:jsonb"`
	PeriodFrom *time.Time `gorm:"type:date"`
	PeriodTo   *time.Time `gorm:"type:date"`
	State      ReconciliationState
	Result     *string `gorm:"type:jsonb"`
	AsOf       *time.Time
	Maker      string
	Keeper     string
	MadeAt     time.Time
	ComparedAt *time.Time
	KeptAt     *time.Time
	RowVersion int `gorm:"default:1"`
}

// Finding is what a row of a partner's list turned out to be.
type Finding string

const (
	Matched       Finding = "matched"
	AmountDiffers Finding = "amount_differs"
	Unknown       Finding = "unknown"
	Duplicated    Finding = "duplicate"
	Missing       Finding = "missing" // a lead of the period that the list lacks
	OutsidePeriod Finding = "outside_period"
	Unreadable    Finding = "unreadable"
	LeftOut       Finding = "left_out" // a lead of the period in a currency or of an account that the list does not name
)

// ReconciliationLine is a row of the list with its finding, or a lead that it lacks.
type ReconciliationLine struct {
	ReconciliationID uuid.UUID `gorm:"primaryKey"`
	Line             int       `gorm:"primaryKey"`
	FileRow          *int
	Finding          Finding
	Problem          string
	LeadID           *uuid.UUID
	AccountID        *uuid.UUID
	OtherPartner     *uuid.UUID
	FirstRow         *int
	Currency         *string
	TheirsMinor      *int64
	OurCurrency      *string
	OursMinor        *int64
	ReceivedAt       *time.Time
}

// ReconciliationSettlement says how a line was settled. The newest of a line counts.
type ReconciliationSettlement struct {
	ID               int64 `gorm:"primaryKey;autoIncrement"`
	ReconciliationID uuid.UUID
	Line             int
	Note             string
	Settler          string
	At               time.Time
}
