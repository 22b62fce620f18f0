package jobs

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

var errNotFound = apperr.New(apperr.NotFound, "job", "Not Found")

// visible returns a query for the jobs that a user is allowed to see. These are the jobs for
// partners in the scope, and the jobs that the user requested.
func (q *Queue) visible(ctx context.Context, sc scope.Scope, staff uuid.UUID) *gorm.DB {
	query := q.db.Gorm.WithContext(ctx).Model(&models.Job{})
	if !sc.All() {
		query = query.Where("partner_id IN ? OR staff_id = ?", sc.IDs(), staff)
	}
	return query
}

// Get returns a job that the user is allowed to see.
func (q *Queue) Get(ctx context.Context, sc scope.Scope, staff uuid.UUID, number int64) (w models.Job, err error) {
	result := q.visible(ctx, sc, staff).Where("id = ?", number).Limit(1).Find(&w)
	if result.Error == nil && result.RowsAffected == 0 {
		return w, errNotFound
	}
	return w, postgres.Translate(result.Error)
}

// Latest returns the newest job for an object. found is false if the object has no jobs. Latest
// does not check whether the user is allowed to see the object.
func (q *Queue) Latest(ctx context.Context, object uuid.UUID) (w models.Job, found bool, err error) {
	w, found, err = q.LatestIn(q.db.Gorm.WithContext(ctx), object)
	return w, found, postgres.Translate(err)
}

// LatestIn is like Latest, but reads in the transaction tx.
func (q *Queue) LatestIn(tx *gorm.DB, object uuid.UUID) (w models.Job, found bool, err error) {
	result := tx.Where("object_id = ?", object).Order("id DESC").Limit(1).Find(&w)
	return w, result.RowsAffected > 0, result.Error
}

// List returns a page of the jobs that the user is allowed to see, newest first. The results newer and
// older report whether there are pages with newer or older jobs.
func (q *Queue) List(
	ctx context.Context, sc scope.Scope, staff uuid.UUID, p postgres.Page[int64],
) (all []models.Job, newer, older bool, err error) {
	if err := p.Apply(q.visible(ctx, sc, staff), "id").Find(&all).Error; err != nil {
		return nil, false, false, postgres.Translate(err)
	}
	all, newer, older = postgres.SplitPage(p, all)
	return all, newer, older, nil
}

// FailedSince counts the jobs that failed after the given time. It counts only jobs that the user is
// allowed to see.
func (q *Queue) FailedSince(ctx context.Context, sc scope.Scope, staff uuid.UUID, at time.Time) (n int64, err error) {
	err = q.visible(ctx, sc, staff).Where("state = ? AND ended_at > ?", models.JobFailed, at).Count(&n).Error
	return n, postgres.Translate(err)
}

// keepEnded is how long a job is stored after it has ended.
const keepEnded = 30 * 24 * time.Hour

// DeleteExpired deletes jobs that ended more than 30 days ago, and returns how many it deleted.
func (q *Queue) DeleteExpired(ctx context.Context) (int64, error) {
	return postgres.InBatches(ctx, q.db.Pool,
		`DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE ended_at < $1 LIMIT $2)`,
		q.clock.Now().Add(-keepEnded))
}
