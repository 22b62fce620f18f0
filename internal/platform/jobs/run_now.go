package jobs

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

// ErrRunning means that a worker is running a job for the object.
var ErrRunning = apperr.New(apperr.Conflict, "job_running",
	"Another process is already doing this. Wait until it has finished.")

// RunNow runs a job for an object in this process, and returns when the job has ended. If the object has an open job
// that no worker is running, RunNow runs that job. If the object has no open job, RunNow runs a new one. If ctx or the
// process ends, a node continues the job after heartbeatTimeout.
//
// It returns ErrRunning, or the handler's error.
func (q *Queue) RunNow(ctx context.Context, by audit.Actor, kind models.JobKind, object, partner uuid.UUID) error {
	var w models.Job
	err := q.db.Transaction(ctx, func(tx *gorm.DB) (err error) {
		w, err = q.claimNow(tx, by, kind, object, partner)
		return err
	})
	if err != nil {
		return err
	}
	r := q.newAttempt(w)
	err = q.attempt(ctx, r)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	switch final := apperr.As(err); {
	case err == nil, errors.Is(err, ErrSuperseded):
		return err
	case final != nil && ctx.Err() == nil:
		return errors.Join(err, q.saveFailure(ending, r, final.Message))
	}
	q.saveState(ending, r, map[string]any{"state": models.JobWaiting})
	return err
}

// claimNow marks the object's open job, or a new one, as running without a River job.
func (q *Queue) claimNow(
	tx *gorm.DB, by audit.Actor, kind models.JobKind, object, partner uuid.UUID,
) (w models.Job, err error) {
	now := q.clock.Now()
	found := tx.Clauses(clause.Locking{Strength: "UPDATE"}).Where("object_id = ? AND state IN ?", object,
		[]models.JobState{models.JobWaiting, models.JobRunning}).Limit(1).Find(&w)
	switch {
	case found.Error != nil:
		return w, found.Error
	case found.RowsAffected == 0:
		if w, err = q.create(tx, by, kind, object, partner); err != nil {
			return w, err
		}
	case w.State == models.JobRunning && now.Sub(*w.HeartbeatAt) < heartbeatTimeout:
		return w, ErrRunning
	}
	idle, err := tryLockExclusive(tx, w.ID)
	if err == nil && !idle {
		err = ErrRunning
	}
	if err == nil {
		err = q.cancelRiverJob(tx, w)
	}
	if err != nil {
		return w, err
	}
	w.State, w.Attempt, w.RiverJobID, w.HeartbeatAt = models.JobRunning, w.Attempt+1, nil, &now
	if w.StartedAt == nil {
		w.StartedAt = &now
	}
	return w, tx.Model(&models.Job{}).Where("id = ?", w.ID).Updates(map[string]any{
		"state": w.State, "attempt": w.Attempt, "river_job_id": nil, "heartbeat_at": now, "started_at": w.StartedAt,
	}).Error
}
