// Package jobs runs work that a page cannot wait for: payout runs, reconciliations,
// large exports. A row in table work holds the state, progress and outcome that users
// see. River assigns the work's job to a node, retries it and cancels it. The states
// are those of models.JobState.
//
// Only one job may write for a piece of work at a time: the one in the row's job_id.
// Every transaction of a Run checks that it still is that job (Run.Step, Run.Commit).
// A worker whose work was cancelled or given to another worker cannot write any more.
// fence.go has the whole protocol.
//
// Its times: asked_at, started_at, beat_at and ended_at are the service's clock.
// started_at is when the first attempt began. beat_at is when a worker last reported
// progress; after heartbeatTimeout without a report, another worker takes over. Cancel sets
// beat_at too, so that work whose cancellation failed halfway runs again after
// heartbeatTimeout. River's times are the system's clock. Ended work is deleted after keepEnded.
package jobs

import (
	"context"
	"database/sql"
	"log/slog"

	"github.com/google/uuid"
	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

// Handler is how a kind of work is done.
type Handler struct {
	// Object is the kind of the object's id. The audit trail shows the id with its prefix.
	Object id.Kind
	// Do does the work and ends with Run.Commit. It may be called again after it failed,
	// was killed or was stopped halfway. A fault that it returns is final and is told to
	// whoever asked; anything else is tried again.
	Do func(context.Context, *Run) error
	// Undo brings what the work was for back to where it can be asked for again, in the
	// transaction that gives the work up.
	Undo func(tx *gorm.DB, w models.Job) error
	// Constraints are the errors for violations in the transactions of a Run and in Undo.
	Constraints postgres.Constraints
}

// Queue takes work in, and works on it.
type Queue struct {
	db       *postgres.DB
	clock    clock.Clock
	log      *slog.Logger
	handlers map[models.JobKind]Handler
	river    *river.Client[*sql.Tx]
}

// NewQueue is a queue on the service's database. Handle its kinds before anything is asked.
func NewQueue(db *postgres.DB, c clock.Clock, log *slog.Logger) *Queue {
	q := &Queue{db: db, clock: c, log: log, handlers: map[models.JobKind]Handler{}}
	q.river = q.newRiver()
	return q
}

// Handle says how a kind of work is done.
func (q *Queue) Handle(kind models.JobKind, by Handler) { q.handlers[kind] = by }

// Enqueue puts work in, in the caller's transaction: it is done when that commits, and not
// when it does not. partner is Nil for what is not one partner's.
func (q *Queue) Enqueue(tx *gorm.DB, by audit.Actor, kind models.JobKind, object, partner uuid.UUID) (models.Job, error) {
	w := models.Job{Kind: kind, ObjectID: object, AskedBy: by.Name, State: models.WorkWaiting, AskedAt: q.clock.Now()}
	if partner != uuid.Nil {
		w.PartnerID = &partner
	}
	if by.Staff != uuid.Nil {
		w.StaffID = &by.Staff
	}
	if err := tx.Create(&w).Error; err != nil {
		return w, err
	}
	err := q.insertJob(tx, &w)
	return w, err
}

// Cancel gives up work that has not ended. What it wrote so far is undone.
func (q *Queue) Cancel(ctx context.Context, sc scope.Scope, by audit.Actor, number int64) error {
	w, err := q.Get(ctx, sc, by.Staff, number)
	if err != nil {
		return err
	}
	// First the work has no job, so that its worker lets go of the step that it is at.
	// Should what follows fail, the work is taken up again.
	err = q.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := q.change(tx, w, map[string]any{"job_id": nil, "state": models.WorkWaiting, "beat_at": q.clock.Now()}); err != nil {
			return err
		}
		return q.cancelJob(tx, w)
	})
	if err != nil {
		return err
	}
	return q.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := lockExclusive(tx, w.ID); err != nil {
			return err
		}
		if err := q.end(tx, w, models.WorkCancelled, "Cancelled by "+by.Name+"."); err != nil {
			return err
		}
		return q.auditChange(tx, by, "work.cancel", w, "")
	})
}
