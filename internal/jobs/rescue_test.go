package jobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/jobs"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// A worker that is not heard of loses its work to another node, and cannot write any
// more, though it lives.
func TestJobOfSilentWorkerIsRescued(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	first, late := make(chan *jobs.Run, 1), make(chan struct{})
	handler := jobs.Handler{Do: func(ctx context.Context, r *jobs.Run) error {
		if r.Attempt > 1 { // on either node
			return r.Commit(ctx, line)
		}
		first <- r
		<-late // it does not notice anything
		return r.Commit(context.WithoutCancel(ctx), line)
	}}
	s.Handle(models.WorkExport, handler)
	runs(t, s.Queue)
	w := s.ask(t, uuid.Nil)
	silent := <-first

	another := s.queue(t)
	another.Handle(models.WorkExport, handler)
	runs(t, another)
	// The first one's heart goes on beating, and what it says is overwritten: it is as if
	// it were not heard.
	testkit.Eventually(t, soon, "it is taken up", func() bool {
		s.db.Exec(t, `UPDATE work SET beat_at = $1 WHERE id = $2 AND attempt = 1`, testkit.StartTime().Add(-time.Hour), w.ID)
		return s.get(t, w).Attempt == 2
	})
	s.becomes(t, w, models.WorkDone)
	close(late)
	if err := silent.Commit(t.Context(), line); !errors.Is(err, jobs.ErrSuperseded) {
		t.Errorf("the first worker's commit: %v", err)
	}
	if n := s.wrote(t); n != 1 {
		t.Errorf("%d lines, want the second worker's", n)
	}
}

// Work waits for a job that nobody will do: its node died between taking it and saying so,
// or the queue gave it up.
func TestStrandedJobIsRescued(t *testing.T) {
	t.Parallel()
	for name, job := range map[string]string{
		"the node died":      `UPDATE river.river_job SET state = 'running', attempt = 1, attempted_at = now(), attempted_by = '{dead}' WHERE id = $1`,
		"the job was put by": `UPDATE river.river_job SET state = 'discarded', finalized_at = now() WHERE id = $1`,
		"the job is gone":    `DELETE FROM river.river_job WHERE id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLineQueue(t)
			s.Handle(models.WorkExport,
				jobs.Handler{Do: func(ctx context.Context, r *jobs.Run) error { return r.Commit(ctx, line) }})
			w := s.ask(t, uuid.Nil)
			s.db.Exec(t, job, *w.JobID)
			s.clock.Advance(time.Minute)
			runs(t, s.Queue)
			dead := *w.JobID
			if w = s.becomes(t, w, models.WorkDone); w.Attempt != 1 || s.wrote(t) != 1 {
				t.Errorf("attempt %d, %d lines", w.Attempt, s.wrote(t))
			}
			if testkit.Value[bool](t, s.db, `SELECT EXISTS (SELECT FROM river.river_job WHERE id = $1 AND state = 'running' AND NOT metadata ? 'cancel_attempted_at')`, dead) {
				t.Error("the dead worker's job runs forever, want it cancelled")
			}
		})
	}
}

// Work whose worker was lost has the attempts that are left, not five more.
func TestRescuedJobKeepsItsAttempts(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	s.Handle(models.WorkExport, jobs.Handler{Do: func(context.Context, *jobs.Run) error { return errors.New("the network") }})
	w := s.ask(t, uuid.Nil)
	s.db.Exec(t, `UPDATE river.river_job SET state = 'running', attempt = 4, attempted_at = now() WHERE id = $1`, *w.JobID)
	s.db.Exec(t, `UPDATE work SET state = 'running', attempt = 4, beat_at = $1 WHERE id = $2`,
		testkit.StartTime().Add(-time.Hour), w.ID)
	runs(t, s.Queue)
	if w = s.becomes(t, w, models.WorkFailed); w.Attempt != 5 {
		t.Errorf("failed after attempt %d, want 5", w.Attempt)
	}
}
