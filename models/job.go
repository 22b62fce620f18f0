package models

import (
	"time"

	"github.com/google/uuid"
)

// JobKind is the kind of a job.
type JobKind string

const (
	WorkReconciliation JobKind = "reconciliation"
	WorkPayoutRun      JobKind = "payout_run"
	WorkExport         JobKind = "export"
)

// JobState is the state of a piece of work.
//
//	waiting ◄──► running ──► done
//	    │            │
//	    └────────────┴─────► failed or cancelled
//
// Queue.Enqueue inserts work in state waiting. What changes its state, with the
// function in internal/jobs:
//
//	waiting → running     a worker claims the work's job (claim)
//	running → waiting     the attempt failed, or its node is stopping (settle)
//	running → waiting     its worker fell silent, and the work gets a new job (rescue)
//	running → waiting     a user cancels the work: first it loses its job (Cancel)
//	running → done        the handler commits the result (Run.Commit, Run.CommitPgx)
//	running → failed      the handler's error is final, or the last attempt failed (giveUp)
//	waiting → failed      the worker of the last attempt was lost (rescue)
//	running → failed      the same
//	waiting → cancelled   a user cancels the work (Cancel)
//
// Done, failed and cancelled are final.
type JobState string

const (
	WorkWaiting   JobState = "waiting"
	WorkRunning   JobState = "running"
	WorkDone      JobState = "done"
	WorkFailed    JobState = "failed"
	WorkCancelled JobState = "cancelled"
)

// Job is a piece of work that takes longer than a page may. Total is 0 while nobody
// knows how much there is to do.
type Job struct {
	ID        int64 `gorm:"primaryKey;autoIncrement"`
	Kind      JobKind
	ObjectID  uuid.UUID
	PartnerID *uuid.UUID // nil: not one partner's
	StaffID   *uuid.UUID // nil: the command line
	AskedBy   string
	State     JobState `gorm:"default:waiting"`
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
func (Job) TableName() string { return "work" }

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
