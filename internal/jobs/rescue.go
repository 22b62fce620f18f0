package jobs

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/models"
)

// stranded is work that nobody does: its worker is not heard of, or it waits and the queue
// will not give its job to anybody, for the node that had it died before it said so, or the
// job had its last attempt.
const stranded = `coalesce(beat_at, asked_at) < ? AND (state = 'running' OR (state = 'waiting'
	AND NOT EXISTS (SELECT FROM river.river_job j WHERE j.id = work.job_id AND j.state IN ('available', 'pending', 'retryable', 'scheduled'))))`

// rescueLoop gives work whose worker was not heard of to another. What that worker
// may still be doing comes to nothing: its job is not the work's any more.
func (q *Queue) rescueLoop(ctx context.Context) {
	tick := time.NewTicker(searchEvery)
	defer tick.Stop()
	for {
		var found []int64
		err := q.db.Gorm.WithContext(ctx).Raw(`SELECT id FROM work WHERE `+stranded+` LIMIT 100`,
			q.clock.Now().Add(-heartbeatTimeout)).Scan(&found).Error
		if err != nil && ctx.Err() == nil {
			q.log.Warn("work of workers that died was not looked for", "error", postgres.Translate(err))
		}
		for _, work := range found { // one by one: what cannot be taken up does not keep the others
			if err := q.rescue(ctx, work); err != nil && ctx.Err() == nil {
				q.log.Warn("work of a worker that died was not taken up", "work", work, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (q *Queue) rescue(ctx context.Context, work int64) error {
	return q.db.Transaction(ctx, func(tx *gorm.DB) error {
		var w models.Job
		result := tx.Raw(`SELECT * FROM work WHERE id = ? AND `+stranded+` FOR UPDATE SKIP LOCKED`, work,
			q.clock.Now().Add(-heartbeatTimeout)).Scan(&w)
		if result.Error != nil || result.RowsAffected == 0 {
			return result.Error
		}
		if idle, err := tryLockExclusive(tx, w.ID); err != nil || !idle {
			return err
		}
		if err := q.cancelJob(tx, w); err != nil {
			return err
		}
		if w.Attempt >= maxAttempts {
			return q.fail(tx, w,
				fmt.Sprintf("It was begun %d times, and each time its worker was lost. Ask for it again when the service is well.",
					w.Attempt))
		}
		return q.insertJob(tx, &w)
	})
}
