// Package jobs runs background jobs, which take too long for a request: payout runs, reconciliations, large exports,
// replays of prices and retention runs. Each job has a row in the table jobs, which contains the state, progress and
// outcome that users see. The states are those of models.JobState. Except while RunNow runs it, a job is also a job in
// the queue library River, called the River job. River assigns it to a node, retries it and cancels it.
//
// Only one worker at a time may write on behalf of a row. The worker is identified by two columns of the row: attempt
// and river_job_id, which is null for RunNow. Attempt.Step and Attempt.Commit check them in each transaction, so a
// worker whose job was cancelled or given to another worker can no longer write. fence.go documents the protocol.
//
// enqueued_at, started_at, heartbeat_at and ended_at come from the service's clock. started_at is
// the time when the first attempt began, and heartbeat_at is the time of the last progress report.
// If there is no report within heartbeatTimeout, another worker takes over. Cancel also sets
// heartbeat_at, so that a job whose cancellation failed halfway runs again after heartbeatTimeout.
// River's times come from the system's clock. Jobs that ended more than keepEnded ago are deleted.
package jobs

import (
	"context"
	"database/sql"
	"log/slog"

	"github.com/google/uuid"
	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Handler runs the jobs of one kind.
type Handler struct {
	// Object is the kind of object that the jobs are for. It determines the prefix of the object's
	// id in the audit log.
	Object id.Kind
	// Do runs the job. Its last step is Attempt.Commit or Attempt.CommitPgx. If it returns an apperr.Error,
	// the job fails, and the user sees the error's message. After any other error, or if the node
	// stops or crashes, Do is called again.
	Do func(context.Context, *Attempt) error
	// Undo resets the job's object, so that the job can be requested again. It runs in the
	// transaction that marks the job as cancelled or failed.
	Undo func(tx *gorm.DB, w models.Job) error
	// Constraints contains the error for each database constraint that Do or Undo can violate.
	Constraints postgres.Constraints
}

// Queue enqueues jobs and runs them.
type Queue struct {
	db       *postgres.DB
	clock    clock.Clock
	log      *slog.Logger
	handlers map[models.JobKind]Handler
	river    *river.Client[*sql.Tx]
}

// NewQueue returns a queue that is stored in the service's database. Call Handle for each kind of
// job before enqueuing jobs.
func NewQueue(db *postgres.DB, c clock.Clock, log *slog.Logger) *Queue {
	db = db.WithConstraints(postgres.Constraints{"jobs_one_open": ErrRunning})
	q := &Queue{db: db, clock: c, log: log, handlers: map[models.JobKind]Handler{}}
	q.river = q.newRiver()
	return q
}

// Handle registers the handler for a kind of job.
func (q *Queue) Handle(kind models.JobKind, by Handler) { q.handlers[kind] = by }

// Enqueue adds a job in the caller's transaction. The job runs only if the transaction is committed. An object
// has at most one open job. If the job is not for a single partner, the parameter partner is uuid.Nil.
func (q *Queue) Enqueue(
	tx *gorm.DB, by audit.Actor, kind models.JobKind, object, partner uuid.UUID,
) (models.Job, error) {
	w, err := q.create(tx, by, kind, object, partner)
	if err != nil {
		return w, err
	}
	err = q.insertRiverJob(tx, &w)
	return w, err
}

func (q *Queue) create(
	tx *gorm.DB, by audit.Actor, kind models.JobKind, object, partner uuid.UUID,
) (models.Job, error) {
	w := models.Job{
		Kind: kind, ObjectID: object, EnqueuedBy: by.Name, StaffID: by.StaffID(), State: models.JobWaiting,
		EnqueuedAt: q.clock.Now(),
	}
	if partner != uuid.Nil {
		w.PartnerID = &partner
	}
	return w, tx.Create(&w).Error
}

// Cancel cancels a job that has not ended, and calls the Undo function of the job's handler.
func (q *Queue) Cancel(ctx context.Context, sc scope.Scope, by audit.Actor, number int64) error {
	w, err := q.Get(ctx, sc, by.Staff, number)
	if err != nil {
		return err
	}
	// First cancel the River job, so that the worker stops its current step. If the second
	// transaction fails, the job runs again.
	err = q.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := q.change(tx, w, map[string]any{"river_job_id": nil, "state": models.JobWaiting, "heartbeat_at": q.clock.Now()}); err != nil {
			return err
		}
		return q.cancelRiverJob(tx, w)
	})
	if err != nil {
		return err
	}
	return q.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := lockExclusive(tx, w.ID); err != nil {
			return err
		}
		if err := q.end(tx, w, models.JobCancelled, "Cancelled by "+by.Name+"."); err != nil {
			return err
		}
		return q.auditChange(tx, by, "job.cancel", w, "")
	})
}
