package jobs

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// stranded is the SQL condition for jobs that no worker seems to be processing. These are running jobs
// without a recent progress report, and waiting jobs that the queue library River will not run again.
const stranded = `coalesce(heartbeat_at, enqueued_at) < ? AND (state = 'running' OR (state = 'waiting'
	AND NOT EXISTS (SELECT FROM river.river_job j WHERE j.id = jobs.river_job_id
		AND j.state IN ('available', 'pending', 'retryable', 'scheduled'))))`

// rescueLoop looks for jobs whose worker has stopped reporting progress, and gives them to other
// workers. The old worker may still be running, but it can no longer write for the job.
func (q *Queue) rescueLoop(ctx context.Context) {
	tick := time.NewTicker(searchEvery)
	defer tick.Stop()
	for {
		var found []int64
		err := q.db.Gorm.WithContext(ctx).Raw(`SELECT id FROM jobs WHERE `+stranded+` LIMIT 100`,
			q.clock.Now().Add(-heartbeatTimeout)).Scan(&found).Error
		if err != nil && ctx.Err() == nil {
			q.log.Warn("cannot search for stranded jobs", "error", postgres.Translate(err))
		}
		for _, jobID := range found { // each in its own transaction, so that a failure does not affect other jobs
			if err := q.rescue(ctx, jobID); err != nil && ctx.Err() == nil {
				q.log.Warn("cannot rescue a job", "job", jobID, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (q *Queue) rescue(ctx context.Context, jobID int64) error {
	return q.db.Transaction(ctx, func(tx *gorm.DB) error {
		var w models.Job
		result := tx.Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).
			Where("id = ? AND "+stranded, jobID, q.clock.Now().Add(-heartbeatTimeout)).Limit(1).Find(&w)
		if result.Error != nil || result.RowsAffected == 0 {
			return result.Error
		}
		if idle, err := tryLockExclusive(tx, w.ID); err != nil || !idle {
			return err
		}
		if err := q.cancelRiverJob(tx, w); err != nil {
			return err
		}
		if w.Attempt >= maxAttempts {
			return q.fail(tx, w,
				fmt.Sprintf("The job stopped unexpectedly %d times. Try again later.",
					w.Attempt))
		}
		return q.insertRiverJob(tx, &w)
	})
}
