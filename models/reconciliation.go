package models

import (
	"time"

	"github.com/google/uuid"
)

// ReconciliationState is the state of a reconciliation.
type ReconciliationState string

const (
	ReconciliationUploaded  ReconciliationState = "uploaded"
	ReconciliationComparing ReconciliationState = "comparing"
	ReconciliationCompared  ReconciliationState = "compared" // not saved yet
	ReconciliationSaved     ReconciliationState = "saved"
	ReconciliationDiscarded ReconciliationState = "discarded"
)

// Reconciliation is a comparison of a partner's file with the ledger. Package reconcile
// writes Profile, Mapping and Result as JSON.
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
	CreatedBy  string
	SavedBy    string
	CreatedAt  time.Time
	ComparedAt *time.Time
	SavedAt    *time.Time
	RowVersion int `gorm:"default:1"`
}

// Finding is the result for one row of a partner's file, or for a missing lead.
type Finding string

const (
	Matched       Finding = "matched"
	AmountDiffers Finding = "amount_differs"
	Unknown       Finding = "unknown"
	Duplicated    Finding = "duplicate"
	Missing       Finding = "missing" // a lead in the period that is not in the file
	OutsidePeriod Finding = "outside_period"
	Unreadable    Finding = "unreadable"
	LeftOut       Finding = "left_out"     // a lead in the period whose currency or account is not in the file
	NotCompared   Finding = "not_compared" // a row whose amount is part of another row's sum, or a ledger entry without a lead
)

// ReconciliationLine is either a row of the file and its finding, or a lead that is not in the
// file.
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
	FileCurrency     *string
	FileMinor        *int64
	LedgerCurrency   *string
	LedgerMinor      *int64
	ReceivedAt       *time.Time
}

// ReconciliationResolution is a note that resolves a line. If a line has several, the newest one is
// shown.
type ReconciliationResolution struct {
	ID               int64 `gorm:"primaryKey;autoIncrement"`
	ReconciliationID uuid.UUID
	Line             int
	Note             string
	ResolvedBy       string
	At               time.Time
}
