package models

import (
	"time"

	"github.com/google/uuid"
)

// WorkKind is what a piece of long work makes.
type WorkKind string

const (
	WorkReconciliation WorkKind = "reconciliation"
	WorkPayoutRun      WorkKind = "payout_run"
	WorkExport         WorkKind = "export"
)

// WorkState is where a piece of long work is.
type WorkState string

const (
	WorkWaiting   WorkState = "waiting"
	WorkRunning   WorkState = "running"
	WorkDone      WorkState = "done"
	WorkFailed    WorkState = "failed"
	WorkCancelled WorkState = "cancelled"
)

// Work is a piece of work that takes longer than a page may. Total is 0 while nobody
// knows how much there is to do.
type Work struct {
	ID        int64 `gorm:"primaryKey;autoIncrement"`
	Kind      WorkKind
	ObjectID  uuid.UUID
	PartnerID *uuid.UUID // nil: not one partner's
	StaffID   *uuid.UUID // nil: the command line
	AskedBy   string
	State     WorkState `gorm:"default:waiting"`
	Phase     string
	Done      int64
	Total     int64
	Failure   string
	Attempt   int
	JobID     *int64 // the queue's job that may write
	AskedAt   time.Time
	StartedAt *time.Time
	BeatAt    *time.Time
	EndedAt   *time.Time
}

// TableName is "work": there is no plural.
func (Work) TableName() string { return "work" }

// File is kept sealed, in parts, for as long as somebody needs it.
type File struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	Whole     bool
	Size      int64
	SHA256    []byte `gorm:"column:sha256"`
	MadeAt    time.Time
	ExpiresAt time.Time
}

// Export is a list that a person asked for and fetches when it is done.
type Export struct {
	ID      uuid.UUID `gorm:"primaryKey"`
	StaffID uuid.UUID
	Filter  string `gorm:"type:jsonb"`
	FileID  *uuid.UUID
	Rows    int64
	MadeAt  time.Time
}
