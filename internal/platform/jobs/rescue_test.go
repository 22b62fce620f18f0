package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/models"
)

// A worker that reports no progress loses its job to another node. It can no longer write, even
// if it is still running.
func TestJobOfSilentWorkerIsRescued(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	first, late := make(chan *jobs.Attempt, 1), make(chan struct{})
	handler := jobs.Handler{Do: func(ctx context.Context, r *jobs.Attempt) error {
		if r.Attempt > 1 { // on either node
			return r.Commit(ctx, line)
		}
		first <- r
		<-late // the worker does not notice that it lost the job
		return r.Commit(context.WithoutCancel(ctx), line)
	}}
	s.Handle(models.JobExport, handler)
	startQueue(t, s.Queue)
	w := s.enqueue(t, uuid.Nil)
	silent := <-first

	another := s.queue(t)
	another.Handle(models.JobExport, handler)
	startQueue(t, another)
	// The first worker still reports progress. Overwrite its reports.
	testkit.Eventually(t, soon, "the second worker starts the job", func() bool {
		s.db.Exec(t, `UPDATE jobs SET heartbeat_at = $1 WHERE id = $2 AND attempt = 1`, testkit.StartTime().Add(-time.Hour), w.ID)
		return s.get(t, w).Attempt == 2
	})
	s.awaitState(t, w, models.JobDone)
	close(late)
	if err := silent.Commit(t.Context(), line); !errors.Is(err, jobs.ErrSuperseded) {
		t.Errorf("the first worker's commit returned %v, want ErrSuperseded", err)
	}
	if n := s.wrote(t); n != 1 {
		t.Errorf("got %d lines, want only the second worker's", n)
	}
}

// A job is rescued if its River job will not run again, because the node died after fetching it or
// River gave up on it.
func TestStrandedJobIsRescued(t *testing.T) {
	t.Parallel()
	for name, job := range map[string]string{
		"node died":           `UPDATE river.river_job SET state = 'running', attempt = 1, attempted_at = now(), attempted_by = '{dead}' WHERE id = $1`,
		"River job discarded": `UPDATE river.river_job SET state = 'discarded', finalized_at = now() WHERE id = $1`,
		"River job deleted":   `DELETE FROM river.river_job WHERE id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLineQueue(t)
			s.Handle(models.JobExport,
				jobs.Handler{Do: func(ctx context.Context, r *jobs.Attempt) error { return r.Commit(ctx, line) }})
			w := s.enqueue(t, uuid.Nil)
			s.db.Exec(t, job, *w.RiverJobID)
			s.clock.Advance(time.Minute)
			startQueue(t, s.Queue)
			dead := *w.RiverJobID
			if w = s.awaitState(t, w, models.JobDone); w.Attempt != 1 || s.wrote(t) != 1 {
				t.Errorf("got %d attempts and %d lines, want 1 and 1", w.Attempt, s.wrote(t))
			}
			if testkit.Value[bool](t, s.db, `SELECT EXISTS (SELECT FROM river.river_job WHERE id = $1 AND state = 'running' AND NOT metadata ? 'cancel_attempted_at')`, dead) {
				t.Error("the dead worker's River job is still running, want cancelled")
			}
		})
	}
}

// A rescued job gets only its remaining attempts.
func TestRescuedJobKeepsItsAttempts(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	s.Handle(models.JobExport, jobs.Handler{
		Do: func(context.Context, *jobs.Attempt) error { return errors.New("the network") },
	})
	w := s.enqueue(t, uuid.Nil)
	s.db.Exec(t, `UPDATE river.river_job SET state = 'running', attempt = 4, attempted_at = now() WHERE id = $1`, *w.RiverJobID)
	s.db.Exec(t, `UPDATE jobs SET state = 'running', attempt = 4, heartbeat_at = $1 WHERE id = $2`,
		testkit.StartTime().Add(-time.Hour), w.ID)
	startQueue(t, s.Queue)
	if w = s.awaitState(t, w, models.JobFailed); w.Attempt != 5 {
		t.Errorf("failed after attempt %d, want 5", w.Attempt)
	}
}
