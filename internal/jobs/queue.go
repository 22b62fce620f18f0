// Package jobs runs work that a page cannot wait for: payout runs, reconciliations,
// large exports. A row in table work holds the state, progress and outcome that users
// see. River assigns the work's job to a node, retries it and cancels it. The states
// are those of models.WorkState.
//
// Only one job may write for a piece of work at a time: the one in the row's job_id.
// Every transaction of a Run checks that it still is that job (Run.Step, Run.Commit).
// A worker whose work was cancelled or given to another worker cannot write any more.
//
// Its times: asked_at, started_at, beat_at and ended_at are the service's clock.
// started_at is when the first attempt began. beat_at is when a worker last reported
// progress; after silentFor without a report, another worker takes over. Cancel sets
// beat_at too, so that work whose cancellation failed halfway runs again after
// silentFor. River's times are the system's clock. Ended work is deleted after keepEnded.
package jobs

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

// Handler is how a kind of work is done.
type Handler struct {
	// Do does the work and ends with Run.Commit. It may be called again after it failed,
	// was killed or was stopped halfway. A fault that it returns is final and is told to
	// whoever asked; anything else is tried again.
	Do func(context.Context, *Run) error
	// Undo brings what the work was for back to where it can be asked for again, in the
	// transaction that gives the work up.
	Undo func(tx *gorm.DB, w models.Work) error
	// Constraints are the errors for violations in the transactions of a Run and in Undo.
	Constraints postgres.Constraints
}

// Queue takes work in, and works on it.
type Queue struct {
	db       *postgres.DB
	clock    clock.Clock
	log      *slog.Logger
	handlers map[models.WorkKind]Handler
	river    *river.Client[*sql.Tx]
}

// NewQueue is a queue on the service's database. Handle its kinds before anything is asked.
func NewQueue(db *postgres.DB, c clock.Clock, log *slog.Logger) *Queue {
	q := &Queue{db: db, clock: c, log: log, handlers: map[models.WorkKind]Handler{}}
	q.river = q.newRiver()
	return q
}

// Handle says how a kind of work is done.
func (q *Queue) Handle(kind models.WorkKind, by Handler) { q.handlers[kind] = by }

// job is what River carries: which work.
type job struct {
	Work int64 `json:"work"`
}

// Kind names the job to River.
func (job) Kind() string { return "work" }

// tries is how often work is begun before it is given up.
const tries = 5

// Enqueue puts work in, in the caller's transaction: it is done when that commits, and not
// when it does not. partner is Nil for what is not one partner's.
func (q *Queue) Enqueue(tx *gorm.DB, by audit.Actor, kind models.WorkKind, object, partner uuid.UUID) (models.Work, error) {
	w := models.Work{Kind: kind, ObjectID: object, AskedBy: by.Name, State: models.WorkWaiting, AskedAt: q.clock.Now()}
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

// insertJob gives the work a new job with the attempts that are left, the only job that
// may write from now on.
func (q *Queue) insertJob(tx *gorm.DB, w *models.Work) error {
	own, ok := tx.Statement.ConnPool.(*sql.Tx)
	if !ok {
		return errors.New("work is asked for in a transaction")
	}
	inserted, err := q.river.InsertTx(tx.Statement.Context, own, job{Work: w.ID},
		&river.InsertOpts{MaxAttempts: tries - w.Attempt})
	if err != nil {
		return err
	}
	w.JobID = &inserted.Job.ID
	return tx.Model(&models.Work{}).Where("id = ?", w.ID).Updates(map[string]any{
		"job_id": w.JobID,
		"state":  models.WorkWaiting,
	}).Error
}

// cancelJob has River cancel the work's job, and the context of its worker.
func (q *Queue) cancelJob(tx *gorm.DB, w models.Work) error {
	if w.JobID == nil {
		return nil
	}
	_, err := q.river.JobCancelTx(tx.Statement.Context, tx.Statement.ConnPool.(*sql.Tx), *w.JobID)
	if errors.Is(err, river.ErrNotFound) {
		return nil
	}
	return err
}

var errNotFound = apperr.New(apperr.NotFound, "work", "Not Found")

// visible narrows a query to what a person may see: of the partners in the scope, and
// what they asked for themselves.
func (q *Queue) visible(ctx context.Context, sc scope.Scope, staff uuid.UUID) *gorm.DB {
	query := q.db.Gorm.WithContext(ctx).Model(&models.Work{})
	if !sc.All() {
		query = query.Where("partner_id IN ? OR staff_id = ?", sc.IDs(), staff)
	}
	return query
}

// Get is a piece of work that the person may see.
func (q *Queue) Get(ctx context.Context, sc scope.Scope, staff uuid.UUID, number int64) (w models.Work, err error) {
	result := q.visible(ctx, sc, staff).Where("id = ?", number).Limit(1).Find(&w)
	if result.Error == nil && result.RowsAffected == 0 {
		return w, errNotFound
	}
	return w, postgres.Translate(result.Error)
}

// Latest returns the newest work on an object; found is false if there is none. The caller
// must be allowed to see the object.
func (q *Queue) Latest(ctx context.Context, object uuid.UUID) (w models.Work, found bool, err error) {
	result := q.db.Gorm.WithContext(ctx).Where("object_id = ?", object).Order("id DESC").Limit(1).Find(&w)
	return w, result.RowsAffected > 0, postgres.Translate(result.Error)
}

// List is a page of work, the newest first.
func (q *Queue) List(
	ctx context.Context, sc scope.Scope, staff uuid.UUID, p postgres.Page,
) (all []models.Work, newer, older bool, err error) {
	if err := p.Of(q.visible(ctx, sc, staff)).Find(&all).Error; err != nil {
		return nil, false, false, postgres.Translate(err)
	}
	all, newer, older = postgres.Cut(p, all)
	return all, newer, older, nil
}

// FailedSince counts the work that failed for good after a moment.
func (q *Queue) FailedSince(ctx context.Context, sc scope.Scope, staff uuid.UUID, at time.Time) (n int64, err error) {
	err = q.visible(ctx, sc, staff).Where("state = ? AND ended_at > ?", models.WorkFailed, at).Count(&n).Error
	return n, postgres.Translate(err)
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
		if err := tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('work'), ?)`, lockOf(w.ID)).Error; err != nil {
			return err
		}
		if err := q.end(tx, w, models.WorkCancelled, "Cancelled by "+by.Name+"."); err != nil {
			return err
		}
		return q.note(tx, by, "work.cancel", w, "")
	})
}

// note is what became of the work in the audit trail; the last thing of its transaction.
func (q *Queue) note(tx *gorm.DB, by audit.Actor, action string, w models.Work, why string) error {
	return audit.Write(tx, q.clock.Now(), by, audit.Event{
		Action:  action,
		Kind:    string(w.Kind),
		Object:  id.Format(kinds[w.Kind], w.ObjectID),
		Partner: partnerOf(w),
		Reason:  why,
	})
}

// kinds are those of the ids of what work is for.
var kinds = map[models.WorkKind]id.Kind{
	models.WorkReconciliation: id.Reconciliation,
	models.WorkPayoutRun:      id.Payout,
	models.WorkExport:         id.Export,
}

func partnerOf(w models.Work) uuid.UUID {
	if w.PartnerID == nil {
		return uuid.Nil
	}
	return *w.PartnerID
}

var errEnded = apperr.New(apperr.Conflict, "work_ended", "This has ended already: load the page again.")

// change changes work that has not ended, whoever has it.
func (q *Queue) change(tx *gorm.DB, w models.Work, columns map[string]any) error {
	result := tx.Model(&models.Work{}).Where("id = ? AND state IN ?", w.ID,
		[]models.WorkState{models.WorkWaiting, models.WorkRunning}).Updates(columns)
	if result.Error == nil && result.RowsAffected == 0 {
		return errEnded
	}
	return result.Error
}

// end gives work up: cancelled, or failed for good. Nobody writes for it meanwhile.
func (q *Queue) end(tx *gorm.DB, w models.Work, state models.WorkState, failure string) error {
	if err := q.change(tx, w, map[string]any{"state": state, "failure": failure, "ended_at": q.clock.Now()}); err != nil {
		return err
	}
	if h := q.handlers[w.Kind]; h.Undo != nil {
		return h.Constraints.Translate(h.Undo(tx, w))
	}
	return nil
}

// keepEnded is how long ended work is listed.
const keepEnded = 30 * 24 * time.Hour

// DeleteExpired deletes work that ended long ago and returns how much.
func (q *Queue) DeleteExpired(ctx context.Context) (int64, error) {
	return postgres.InBatches(ctx, q.db.Pool,
		`DELETE FROM work WHERE id IN (SELECT id FROM work WHERE ended_at < $1 LIMIT $2)`,
		q.clock.Now().Add(-keepEnded))
}
