package models

import (
	"time"

	"github.com/google/uuid"
)

// JobKind is the type of a job.
type JobKind string

const (
	JobReconciliation JobKind = "reconciliation"
	JobPayoutRun      JobKind = "payout_run"
	JobExport         JobKind = "export"
	JobReplay         JobKind = "replay" // of a draft of the rate card
	JobRetentionRun   JobKind = "retention_run"
)

// JobKinds contains all kinds of jobs.
var JobKinds = []JobKind{JobReconciliation, JobPayoutRun, JobExport, JobReplay, JobRetentionRun}

// JobState is the state of a job.
//
//	waiting ◄──► running ──► done
//	    │            │
//	    └────────────┴─────► failed or cancelled
//
// Queue.Enqueue inserts a job in the state waiting. These are the other changes of state, with the
// functions in internal/platform/jobs that make them:
//
//	waiting → running     a worker or a command claims the job (claim, claimNow)
//	running → waiting     the attempt failed, or its node is stopping (settle)
//	running → waiting     the worker stopped responding, and the job is queued again (rescue)
//	running → waiting     a user cancels the job, which is first removed from the queue (Cancel)
//	running → done        the handler commits the result (Attempt.Commit, Attempt.CommitPgx)
//	running → failed      the handler's error is final, or the last attempt failed (giveUp)
//	waiting → failed      the last attempt's worker was lost (rescue)
//	running → failed      the last attempt's worker was lost (rescue)
//	waiting → cancelled   a user cancels the job (Cancel)
//
// The states done, failed and cancelled are final.
type JobState string

const (
	JobWaiting   JobState = "waiting"
	JobRunning   JobState = "running"
	JobDone      JobState = "done"
	JobFailed    JobState = "failed"
	JobCancelled JobState = "cancelled"
)

// Job is background work that takes too long for a page request. Total is 0 while the
// amount of work is unknown.
type Job struct {
	ID          int64 `gorm:"primaryKey;autoIncrement"`
	Kind        JobKind
	ObjectID    uuid.UUID
	PartnerID   *uuid.UUID // nil if the job is not for one partner
	StaffID     *uuid.UUID // nil if the job was enqueued from the command line
	EnqueuedBy  string
	State       JobState `gorm:"default:waiting"`
	Phase       string
	Done        int64
	Total       int64
	Failure     string
	Attempt     int
	RiverJobID  *int64 // only this River job may write results
	EnqueuedAt  time.Time
	StartedAt   *time.Time
	HeartbeatAt *time.Time
	EndedAt     *time.Time
}

// TableName implements GORM's Tabler.
func (Job) TableName() string { return "jobs" }

// File is an encrypted file, stored in parts until it is no longer needed.
type File struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	Complete  bool
	Size      int64
	SHA256    []byte `gorm:"column:sha256"`
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Export is a CSV export that a user requested and downloads when it is done.
type Export struct {
	ID        uuid.UUID `gorm:"primaryKey"`
	StaffID   uuid.UUID
	Filter    string `gorm:"type:jsonb"`
	FileID    *uuid.UUID
	Rows      int64
	CreatedAt time.Time
}
