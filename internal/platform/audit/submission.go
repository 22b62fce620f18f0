package audit

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// Submission identifies one submission of a console form that creates an object. The form contains
// a random key, so that only one object is created if the form is submitted twice.
type Submission struct {
	Path string // the path of the form
	Key  uuid.UUID
}

var errSubmitted = apperr.New(apperr.Conflict, "submitted", "You already submitted this form. Nothing new was created.")

// claim is a form submission that created an object. It is recorded in the same transaction as the object.
type claim struct {
	form  Submission
	at    time.Time
	staff uuid.UUID
	event Event
}

// store records the submission. It fails if another transaction has already recorded the submission. If
// that transaction is still open, store waits until it ends.
func (c claim) store(tx *gorm.DB) error {
	q := tx.Exec(`INSERT INTO form_submissions (staff_id, path, key, object_kind, object_id, at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		c.staff, c.form.Path, c.form.Key, c.event.Kind, c.event.Object, c.at)
	if q.Error == nil && q.RowsAffected == 0 {
		return errSubmitted
	}
	return q.Error
}

// Submitted returns the prefixed id of the object that a submission created. The result ok is false if
// the submission has not created an object.
func (l *Log) Submitted(ctx context.Context, staff uuid.UUID, s Submission) (object string, ok bool, err error) {
	var found []string
	err = l.db.Gorm.WithContext(ctx).Raw(`SELECT object_id FROM form_submissions WHERE staff_id = ? AND path = ? AND key = ?`,
		staff, s.Path, s.Key).Scan(&found).Error
	if err != nil || len(found) == 0 {
		return "", false, postgres.Translate(err)
	}
	return found[0], true, nil
}
