package jobs_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/models"
)

// After an internal error, the job is retried and continues after the completed steps. After an
// apperr.Error, the job fails with the error's message. A failed job is undone.
func TestFailingJobs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do       func(r *jobs.Attempt) error
		state    models.JobState
		attempts int
		failure  string
		lines    int64
	}{
		"fails once": {
			func(r *jobs.Attempt) error { return onAttempt(r, 1, errors.New("the network")) }, models.JobDone, 2, "", 2},
		"fails with an apperr": {func(*jobs.Attempt) error { return apperr.New(apperr.Invalid, "file", "This is not a CSV file.") },
			models.JobFailed, 1, "This is not a CSV file.", 0},
		"panics": {func(r *jobs.Attempt) error { return onAttempt(r, 1, nil) }, models.JobDone, 2, "", 2},
		"fails always": {func(*jobs.Attempt) error { return errors.New("a plaintext password") }, models.JobFailed, 5,
			"The job failed 5 times", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLineQueue(t)
			s.Handle(models.JobExport, jobs.Handler{
				Do: func(ctx context.Context, r *jobs.Attempt) error {
					if r.Attempt == 1 && c.lines > 0 {
						if err := r.Step(ctx, line); err != nil {
							return err
						}
					}
					if err := c.do(r); err != nil {
						return err
					}
					return r.Commit(ctx, line)
				},
				Undo:   func(tx *gorm.DB, w models.Job) error { return tx.Exec(`DELETE FROM exports`).Error },
				Object: id.Export,
			})
			startQueue(t, s.Queue)
			w := s.enqueue(t, uuid.Nil)
			testkit.Eventually(t, 2*soon, "the job ends", func() bool { return s.get(t, w).EndedAt != nil })
			if w = s.get(t, w); w.State != c.state || w.Attempt != c.attempts ||
				!strings.HasPrefix(w.Failure, c.failure) || (c.failure == "" && w.Failure != "") {
				t.Errorf("got state %s after %d attempts with failure %q, want %s after %d with %q",
					w.State, w.Attempt, w.Failure, c.state, c.attempts, c.failure)
			}
			if n := s.wrote(t); n != c.lines {
				t.Errorf("got %d lines, want %d", n, c.lines)
			}
			if n := testkit.Value[int64](t, s.db,
				`SELECT count(*) FROM audit_events WHERE action = 'job.fail' AND object_id = $1 AND reason = $2`,
				id.Format(id.Export, w.ObjectID), w.Failure); (n == 1) != (c.state == models.JobFailed) {
				t.Errorf("got %d job.fail events, want 1 if the job failed and 0 otherwise", n)
			}
			failed := w.Attempt
			if c.state == models.JobDone {
				failed--
			}
			testkit.Eventually(t, soon, "River has one error for each failed attempt", func() bool {
				return testkit.Value[int](t, s.db, `SELECT coalesce(sum(cardinality(errors)), 0) FROM river.river_job`) == failed
			})
			if strings.Contains(testkit.Value[string](t, s.db, `SELECT coalesce(string_agg(river_job::text, ' '), '') FROM river.river_job`), "password") {
				t.Error("River stores the original error")
			}
		})
	}
}

// onAttempt makes one attempt fail with err, or panic if err is nil.
func onAttempt(r *jobs.Attempt, attempt int, err error) error {
	if r.Attempt != attempt {
		return nil
	}
	if err == nil {
		panic("boom")
	}
	return err
}

// Another node continues the job of a node that stops. Stopping does not count as an attempt.
func TestJobContinuesAfterNodeStops(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	begun := make(chan struct{}, 1)
	s.Handle(models.JobExport, jobs.Handler{Do: func(ctx context.Context, r *jobs.Attempt) error {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}})
	stop := startQueue(t, s.Queue)
	w := s.enqueue(t, uuid.Nil)
	<-begun
	stop()
	if w = s.get(t, w); w.State != models.JobWaiting || w.Attempt != 0 {
		t.Errorf("got state %s and attempt %d, want waiting and 0", w.State, w.Attempt)
	}
	next := s.queue(t)
	next.Handle(models.JobExport, jobs.Handler{
		Do: func(ctx context.Context, r *jobs.Attempt) error { return r.Commit(ctx, line) },
	})
	startQueue(t, next)
	s.awaitState(t, w, models.JobDone)
}

// If a node stops while it claims a job, the job is available again at once.
func TestNodeStopsWhileJobIsClaimed(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	s.Handle(models.JobExport, jobs.Handler{Do: func(ctx context.Context, r *jobs.Attempt) error {
		<-ctx.Done()
		return ctx.Err()
	}})
	w := s.enqueue(t, uuid.Nil)
	other := testkit.Connect(t, s.db.AppURL)
	for _, sql := range []string{`BEGIN`, `SELECT FROM jobs FOR UPDATE`} {
		if _, err := other.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	stop := startQueue(t, s.Queue)
	testkit.Eventually(t, soon, "the claim waits for the lock", func() bool {
		return testkit.Value[bool](t, s.db, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'UPDATE jobs%')`)
	})
	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()
	if _, err := other.Exec(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	<-stopped
	if w = s.get(t, w); w.State != models.JobWaiting || w.Attempt != 0 || s.jobState(t, *w.RiverJobID) != "available" {
		t.Errorf("got state %s, attempt %d and the River job %s, want waiting, 0 and available", w.State, w.Attempt, s.jobState(t, *w.RiverJobID))
	}
}

// blockingHandler runs jobs that wait until release is closed.
type blockingHandler struct {
	begun   chan struct{}
	release chan struct{}
	runs    atomic.Int64
}

func (s *lineQueue) handleBlocking() *blockingHandler {
	l := &blockingHandler{begun: make(chan struct{}, 2), release: make(chan struct{})}
	s.Handle(models.JobExport, jobs.Handler{Do: func(ctx context.Context, r *jobs.Attempt) error {
		l.runs.Add(1)
		l.begun <- struct{}{}
		<-l.release
		return r.Commit(ctx, line)
	}})
	return l
}

// expectOneRun releases the handler and checks that one worker ran the job.
func (s *lineQueue) expectOneRun(t *testing.T, l *blockingHandler, w models.Job) {
	t.Helper()
	close(l.release)
	if w = s.awaitState(t, w, models.JobDone); w.Attempt != 1 || l.runs.Load() != 1 || s.wrote(t) != 1 {
		t.Errorf("got %d attempts, %d workers and %d lines, want 1 of each", w.Attempt, l.runs.Load(), s.wrote(t))
	}
}

func (s *lineQueue) jobState(t *testing.T, job int64) string {
	t.Helper()
	return testkit.Value[string](t, s.db, `SELECT state::text FROM river.river_job WHERE id = $1`, job)
}

// A River job that is given to a second worker is not claimed while the first worker is alive.
func TestJobOfLiveWorkerIsNotClaimed(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	l := s.handleBlocking()
	startQueue(t, s.Queue)
	w := s.enqueue(t, uuid.Nil)
	<-l.begun
	s.db.Exec(t, `UPDATE river.river_job SET state = 'available' WHERE id = $1`, *w.RiverJobID)
	testkit.Eventually(t, soon, "the second worker gives up the job or starts it", func() bool {
		return l.runs.Load() == 2 || s.jobState(t, *w.RiverJobID) == "cancelled"
	})
	s.expectOneRun(t, l, w)
}
