package jobs_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/models"
)

// A step may take minutes. While it runs, the job's progress is visible and the job can be
// cancelled.
func TestLongStepReportsProgressAndCanBeCancelled(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	ended := make(chan error, 1)
	s.Handle(models.JobExport, jobs.Handler{Do: func(ctx context.Context, r *jobs.Attempt) error {
		r.Progress("claiming", 3, 9)
		err := r.Step(ctx, func(tx *gorm.DB) error {
			if err := line(tx); err != nil {
				return err
			}
			return tx.Exec(`SELECT pg_sleep(600)`).Error
		})
		ended <- err
		return err
	}})
	startQueue(t, s.Queue)
	w := s.enqueue(t, uuid.Nil)
	testkit.Eventually(t, soon, "the step is running and the job's progress is saved", func() bool {
		return s.get(t, w).Done == 3 && testkit.Value[bool](t, s.db,
			`SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep')`)
	})
	if err := s.Cancel(t.Context(), scope.Everywhere, s.by, w.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the step finished, want an error")
	}
	if w = s.get(t, w); w.State != models.JobCancelled || w.Done != 3 || s.wrote(t) != 0 {
		t.Errorf("got state %s, progress %d and %d lines, want cancelled, 3 and 0", w.State, w.Done, s.wrote(t))
	}
}
