package jobs_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/jobs"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// A failure on our side is tried again, from where the last attempt got to; a fault is final
// and is told; what failed for good is undone.
func TestWorkThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do       func(r *jobs.Run) error
		state    models.JobState
		attempts int
		told     string
		lines    int64
	}{
		"once": {func(r *jobs.Run) error { return onAttempt(r, 1, errors.New("the network")) }, models.WorkDone, 2, "", 2},
		"by a fault": {func(*jobs.Run) error { return apperr.New(apperr.Invalid, "file", "This is no CSV file.") },
			models.WorkFailed, 1, "This is no CSV file.", 0},
		"by panicking": {func(r *jobs.Run) error { return onAttempt(r, 1, nil) }, models.WorkDone, 2, "", 2},
		"again, always": {func(*jobs.Run) error { return errors.New("a password in clear") }, models.WorkFailed, 5,
			"It failed 5 times, the last time for a reason on our side", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLineQueue(t)
			s.Handle(models.WorkExport, jobs.Handler{
				Do: func(ctx context.Context, r *jobs.Run) error {
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
			runs(t, s.Queue)
			w := s.ask(t, uuid.Nil)
			testkit.Eventually(t, 2*soon, "it ends", func() bool { return s.get(t, w).EndedAt != nil })
			if w = s.get(t, w); w.State != c.state || w.Attempt != c.attempts ||
				!strings.HasPrefix(w.Failure, c.told) || (c.told == "" && w.Failure != "") {
				t.Errorf("%s after %d attempts: %q", w.State, w.Attempt, w.Failure)
			}
			if n := s.wrote(t); n != c.lines {
				t.Errorf("%d lines, want %d", n, c.lines)
			}
			if n := testkit.Value[int64](t, s.db,
				`SELECT count(*) FROM audit_events WHERE action = 'work.fail' AND object_id = $1 AND reason = $2`,
				id.Format(id.Export, w.ObjectID), w.Failure); (n == 1) != (c.state == models.WorkFailed) {
				t.Errorf("%d events in the audit trail", n)
			}
			failed := w.Attempt
			if c.state == models.WorkDone {
				failed--
			}
			testkit.Eventually(t, soon, "River has an error for each attempt that failed", func() bool {
				return testkit.Value[int](t, s.db, `SELECT coalesce(sum(cardinality(errors)), 0) FROM river.river_job`) == failed
			})
			if strings.Contains(testkit.Value[string](t, s.db, `SELECT coalesce(string_agg(river_job::text, ' '), '') FROM river.river_job`), "password") {
				t.Error("the queue keeps what failed in the words of the program")
			}
		})
	}
}

// onAttempt fails an attempt, by panicking where err is nil.
func onAttempt(r *jobs.Run, attempt int, err error) error {
	if r.Attempt != attempt {
		return nil
	}
	if err == nil {
		panic("out of cheese")
	}
	return err
}

// A node that stops hands on what it was doing, and that is no failed attempt.
func TestWorkOutlivesANode(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	begun := make(chan struct{}, 1)
	s.Handle(models.WorkExport, jobs.Handler{Do: func(ctx context.Context, r *jobs.Run) error {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}})
	stop := runs(t, s.Queue)
	w := s.ask(t, uuid.Nil)
	<-begun
	stop()
	if w = s.get(t, w); w.State != models.WorkWaiting || w.Attempt != 0 {
		t.Errorf("%s after attempt %d", w.State, w.Attempt)
	}
	next := s.queue(t)
	next.Handle(models.WorkExport, jobs.Handler{Do: func(ctx context.Context, r *jobs.Run) error { return r.Commit(ctx, line) }})
	runs(t, next)
	s.becomes(t, w, models.WorkDone)
}

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
func (s *lineQueue) endsOnce(t *testing.T, l *long, w models.Job) {
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
