package models

import (
	"time"

	"github.com/google/uuid"
)

// EntryKind is the type of a ledger entry. It determines the sign of the amount.
type EntryKind string

const (
	EntryAccrual    EntryKind = "accrual"    // + a lead was delivered
	EntryReturn     EntryKind = "return"     // − a lead was returned
	EntryAdjustment EntryKind = "adjustment" // ± a correction
	EntryPayment    EntryKind = "payment"    // − a payout was paid
)

// LedgerEntry is a signed amount in one account. The sum of an account's entries is the amount owed
// to the partner. Entries are never changed or deleted.
type LedgerEntry struct {
	ID          int64 `gorm:"primaryKey;autoIncrement"`
	PartnerID   uuid.UUID
	AccountID   uuid.UUID
	LeadID      *uuid.UUID
	Kind        EntryKind
	Reference   string
	AmountMinor int64
	Currency    string
	OccurredAt  time.Time
	CreatedBy   string // "" if the service made the entry
	Note        string `gorm:"-"` // stored as a LedgerNote
}

// LedgerNote is the note of a ledger entry. An entry without a note has no LedgerNote. Unlike the entry,
// the note can be changed, because it can contain personal data.
type LedgerNote struct {
	EntryID    int64 `gorm:"primaryKey"`
	OccurredAt time.Time
	Note       string
}

// LedgerReference is the reference of an entry that is not an accrual. It is used to find the entry.
type LedgerReference struct {
	PartnerID  uuid.UUID `gorm:"primaryKey"`
	Kind       EntryKind `gorm:"primaryKey"`
	Reference  string    `gorm:"primaryKey"`
	LeadID     *uuid.UUID
	EntryID    int64
	OccurredAt time.Time
}

// ReturnReason is the reason for a return.
type ReturnReason string

const (
	WrongContact ReturnReason = "wrong_contact"
	Duplicate    ReturnReason = "duplicate"
	NoConsent    ReturnReason = "no_consent"
	WrongService ReturnReason = "wrong_service"
	OutsideArea  ReturnReason = "outside_area"
	NotACustomer ReturnReason = "not_a_customer"
	Fraud        ReturnReason = "fraud"
	OtherReason  ReturnReason = "other"
)

// ReturnState is the state of a return.
type ReturnState string

const (
	ReturnOpen     ReturnState = "open"
	ReturnAccepted ReturnState = "accepted"
	ReturnRejected ReturnState = "rejected"
)

// Return is a dispute about a delivered lead. If it is accepted, a ledger entry reverses the accrual.
type Return struct {
	ID           uuid.UUID `gorm:"primaryKey"`
	LeadID       uuid.UUID
	PartnerID    uuid.UUID
	AccountID    uuid.UUID
	AmountMinor  int64 // the amount that the lead earned
	Currency     string
	Reason       ReturnReason
	Evidence     string
	State        ReturnState `gorm:"default:open"`
	RequestedBy  string
	RequesterID  *uuid.UUID // nil if it was requested before requests had this ID
	RequestedAt  time.Time
	DecidedBy    string
	DeciderID    *uuid.UUID
	DecidedAt    *time.Time
	DecisionNote string
	RowVersion   int `gorm:"default:1"`
}

// AdjustmentState is the state of an adjustment.
type AdjustmentState string

const (
	AdjustmentWithinLimit AdjustmentState = "within_limit" // in the ledger; needed no approval
	AdjustmentOpen        AdjustmentState = "open"
	AdjustmentApproved    AdjustmentState = "approved" // in the ledger
	AdjustmentRejected    AdjustmentState = "rejected"
)

// Adjustment is a user's change to a balance. If it exceeds the user's daily limit, another user must approve it
// before it is added to the ledger.
type Adjustment struct {
	ID           uuid.UUID `gorm:"primaryKey"`
	PartnerID    uuid.UUID
	AccountID    uuid.UUID
	LeadID       *uuid.UUID
	AmountMinor  int64
	Currency     string
	Reason       string // "" if the adjustment is in the ledger, which contains the reason
	State        AdjustmentState
	RequestedBy  string
	RequesterID  uuid.UUID
	RequestedAt  time.Time
	DecidedBy    string
	DeciderID    *uuid.UUID
	DecidedAt    *time.Time
	DecisionNote string
}

// RunState is the state of a payout run.
//
//	preparing ──► prepared ──► approved ──► paid
//	    │            │            │
//	    └────────────┴────────────┴───────► cancelled
//
// A user starts a run in the state preparing, and its job claims ledger entries. These are the
// changes of state:
//
//	preparing → prepared    the job has claimed all entries
//	preparing → cancelled   there is nothing to pay, or the job was cancelled or failed
//	prepared  → approved    another user approves the run
//	prepared  → cancelled   a user cancels the run
//	approved  → paid        a user marks the run as paid, which adds its payments to the ledger
//	approved  → cancelled   a user cancels the run
//
// The states paid and cancelled are final. Cancelling a run releases its entries for the next run.
type RunState string

const (
	RunPreparing RunState = "preparing"
	RunPrepared  RunState = "prepared"
	RunApproved  RunState = "approved"
	RunPaid      RunState = "paid"
	RunCancelled RunState = "cancelled"
)

// PayoutRun pays all unpaid entries that are in one currency and dated before its cutoff.
type PayoutRun struct {
	ID           uuid.UUID `gorm:"primaryKey"`
	Currency     string
	Cutoff       time.Time
	MinimumMinor int64
	Note         string
	State        RunState
	Entries      int64
	Payouts      int
	Held         int
	TotalMinor   int64
	Preparer     string
	PreparerID   uuid.UUID
	PreparedAt   *time.Time
	Approver     string
	ApproverID   *uuid.UUID
	ApprovedAt   *time.Time
	Payer        string
	PaidAt       *time.Time
	Reference    string
	CancelReason string
	CreatedAt    time.Time
	RowVersion   int `gorm:"default:1"`
}

// PayoutRunEntry records that a run claimed an entry. An entry is in at most one run.
type PayoutRunEntry struct {
	EntryID    int64     `gorm:"primaryKey"`
	OccurredAt time.Time `gorm:"primaryKey"` // of the entry
	RunID      uuid.UUID
}

// StatementOutcome says whether an account is paid in a payout run, or why it is not.
type StatementOutcome string

const (
	StatementPays         StatementOutcome = "pays"
	StatementBelowMinimum StatementOutcome = "below_minimum"
	StatementNegative     StatementOutcome = "negative"
	StatementEven         StatementOutcome = "even"
)

// Statement is the result of a payout run for one account. A held payout is left for the next payout
// run, together with its entries.
type Statement struct {
	RunID         uuid.UUID `gorm:"primaryKey"`
	AccountID     uuid.UUID `gorm:"primaryKey"`
	PartnerID     uuid.UUID
	Outcome       StatementOutcome
	Entries       int64
	FirstEntryAt  *time.Time // the time of the earliest entry
	AccruedMinor  int64
	ReturnedMinor int64
	AdjustedMinor int64
	NetMinor      int64
}
