package jobs_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/jobs"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// long is work that goes on until it is let go.
type long struct {
	begun chan struct{}
	letGo chan struct{}
	runs  atomic.Int64
}

func (s *lineQueue) long() *long {
	l := &long{begun: make(chan struct{}, 2), letGo: make(chan struct{})}
	s.Handle(models.WorkExport, jobs.Handler{Do: func(ctx context.Context, r *jobs.Run) error {
		l.runs.Add(1)
		l.begun <- struct{}{}
		<-l.letGo
		return r.Commit(ctx, line)
	}})
	return l
}

// endsOnce lets the work go and checks that one worker did it.
func (s *lineQueue) endsOnce(t *testing.T, l *long, w models.Work) {
	t.Helper()
	close(l.letGo)
	if w = s.becomes(t, w, models.WorkDone); w.Attempt != 1 || l.runs.Load() != 1 || s.wrote(t) != 1 {
		t.Errorf("%d attempts, %d workers, %d lines, want one of each", w.Attempt, l.runs.Load(), s.wrote(t))
	}
}

func (s *lineQueue) jobState(t *testing.T, job int64) string {
	t.Helper()
	return testkit.Value[string](t, s.db, `SELECT state::text FROM river.river_job WHERE id = $1`, job)
}

// River rescues jobs that seem stuck after an hour. A job whose worker runs for longer
// is not one of them.
func TestJobThatRunsForHoursIsNotRescued(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	l := s.long()
	runs(t, s.Queue)
	w := s.ask(t, uuid.Nil)
	<-l.begun
	stuck := testkit.Value[int64](t, s.db, `INSERT INTO river.river_job (kind, args, max_attempts, state, attempt, attempted_at)
		VALUES ('unknown', '{}', 1, 'running', 1, now() - interval '2 hours') RETURNING id`)
	s.db.Exec(t, `UPDATE river.river_job SET attempted_at = now() - interval '2 hours' WHERE id = $1`, *w.JobID)
	s.db.Exec(t, `DELETE FROM river.river_leader`) // the next leader looks for stuck jobs at once
	testkit.Eventually(t, time.Minute, "a job without a worker is rescued",
		func() bool { return s.jobState(t, stuck) != "running" })
	if state := s.jobState(t, *w.JobID); state != "running" {
		t.Errorf("the job of a worker that runs is %s, want running", state)
	}
	s.endsOnce(t, l, w)
}

// A job that is handed out a second time, whatever the reason, is refused while the
// first worker is alive.
func TestJobOfALiveWorkerIsNotClaimed(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	l := s.long()
	runs(t, s.Queue)
	w := s.ask(t, uuid.Nil)
	<-l.begun
	s.db.Exec(t, `UPDATE river.river_job SET state = 'available' WHERE id = $1`, *w.JobID)
	testkit.Eventually(t, soon, "the second worker lets go of the job, or begins", func() bool {
		return l.runs.Load() == 2 || s.jobState(t, *w.JobID) == "cancelled"
	})
	s.endsOnce(t, l, w)
}
