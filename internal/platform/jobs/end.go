package jobs

import (
	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

var errEnded = apperr.New(apperr.Conflict, "job_ended", "This job has already ended. Reload the page.")

// change updates a job's row, even while a worker is running the job. It returns errEnded if the job has
// ended.
func (q *Queue) change(tx *gorm.DB, w models.Job, columns map[string]any) error {
	result := tx.Model(&models.Job{}).Where("id = ? AND state IN ?", w.ID,
		[]models.JobState{models.JobWaiting, models.JobRunning}).Updates(columns)
	if result.Error == nil && result.RowsAffected == 0 {
		return errEnded
	}
	return result.Error
}

// This method marks a job as cancelled or failed, and calls the Undo function of the job's handler. The
// caller must make sure that no worker is still writing for the job.
func (q *Queue) end(tx *gorm.DB, w models.Job, state models.JobState, failure string) error {
	if err := q.change(tx, w, map[string]any{"state": state, "failure": failure, "ended_at": q.clock.Now()}); err != nil {
		return err
	}
	if h := q.handlers[w.Kind]; h.Undo != nil {
		return h.Constraints.Translate(h.Undo(tx, w))
	}
	return nil
}

// fail marks a job as failed, and calls the Undo function of the job's handler. It writes an audit event
// whose actor is the service.
func (q *Queue) fail(tx *gorm.DB, w models.Job, failure string) error {
	if err := q.end(tx, w, models.JobFailed, failure); err != nil {
		return err
	}
	return q.auditChange(tx, audit.Service, "job.fail", w, failure)
}

// auditChange adds an audit event for the job to the transaction.
func (q *Queue) auditChange(tx *gorm.DB, by audit.Actor, action string, w models.Job, why string) error {
	return audit.Write(tx, q.clock.Now(), by, audit.Event{
		Action:  action,
		Kind:    string(w.Kind),
		Object:  id.Format(q.handlers[w.Kind].Object, w.ObjectID),
		Partner: partnerOf(w),
		Reason:  why,
	})
}

func partnerOf(w models.Job) uuid.UUID {
	if w.PartnerID == nil {
		return uuid.Nil
	}
	return *w.PartnerID
}
