package jobs

import (
	"context"
	"time"

	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Backlog is the number of jobs of a kind in a state.
type Backlog struct {
	Kind   models.JobKind
	State  models.JobState // waiting, running or failed
	Jobs   int64
	Oldest time.Time // when the oldest of the jobs was enqueued
}

// Backlogs returns the numbers of jobs that have not ended, and of those that failed in the last 30 days.
func (q *Queue) Backlogs(ctx context.Context) (all []Backlog, err error) {
	err = q.db.Gorm.WithContext(ctx).Model(&models.Job{}).
		Select("kind, state, count(*) AS jobs, min(enqueued_at) AS oldest").
		Where("state IN ?", []models.JobState{models.JobWaiting, models.JobRunning, models.JobFailed}).
		Group("kind, state").Find(&all).Error
	return all, postgres.Translate(err)
}
