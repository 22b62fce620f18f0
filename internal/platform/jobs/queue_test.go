package jobs_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const soon = time.Minute

// lineQueue is a queue whose jobs write lines. A line is a row of the table exports, whose constraints
// do not affect these tests.
type lineQueue struct {
	*jobs.Queue
	db    *testkit.Database
	clock *clock.Manual
	by    audit.Actor
}

func newLineQueue(t *testing.T) *lineQueue {
	t.Helper()
	s := &lineQueue{db: testkit.NewDatabase(t), clock: clock.NewManual(testkit.StartTime())}
	s.by = testkit.Actor(t, s.db, "dmitri@example.com")
	s.Queue = s.queue(t)
	return s
}

// queue returns the queue of another node with the same database.
func (s *lineQueue) queue(t *testing.T) *jobs.Queue {
	t.Helper()
	return testkit.NewQueue(s.db.DB, s.clock)
}

// startQueue runs a queue until the test ends or stop is called.
func startQueue(t *testing.T, q *jobs.Queue) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var done sync.WaitGroup
	done.Go(func() { q.Run(ctx) })
	stop = func() { cancel(); done.Wait() }
	t.Cleanup(stop)
	return stop
}

func (s *lineQueue) enqueue(t *testing.T, partner uuid.UUID) models.Job {
	t.Helper()
	var w models.Job
	err := s.db.Transaction(t.Context(), func(tx *gorm.DB) (err error) {
		w, err = s.Enqueue(tx, s.by, models.JobExport, uuid.New(), partner)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (s *lineQueue) get(t *testing.T, w models.Job) models.Job {
	t.Helper()
	now, err := s.Get(t.Context(), scope.Everywhere, uuid.Nil, w.ID)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func (s *lineQueue) awaitState(t *testing.T, w models.Job, state models.JobState) models.Job {
	t.Helper()
	testkit.Eventually(t, soon, "the job is "+string(state), func() bool { return s.get(t, w).State == state })
	return s.get(t, w)
}

// wrote returns the number of lines that jobs have written.
func (s *lineQueue) wrote(t *testing.T) int64 {
	return testkit.Value[int64](t, s.db, `SELECT count(*) FROM exports`)
}

func line(tx *gorm.DB) error {
	return tx.Create(&models.Export{
		ID:        uuid.New(),
		StaffID:   uuid.New(),
		Filter:    "{}",
		CreatedAt: testkit.StartTime(),
	}).Error
}

func TestJobIsDone(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	s.Handle(models.JobExport, jobs.Handler{Do: func(ctx context.Context, r *jobs.Attempt) error {
		r.Progress("writing lines", 7, 9)
		return r.Commit(ctx, line)
	}})
	startQueue(t, s.Queue)
	w := s.awaitState(t, s.enqueue(t, uuid.Nil), models.JobDone)
	if w.Phase != "writing lines" || w.Done != 7 || w.Total != 9 || w.Attempt != 1 || w.EndedAt == nil ||
		w.EnqueuedBy != s.by.Name || *w.StaffID != s.by.Staff {
		t.Errorf("got job %+v", w)
	}
	if n := s.wrote(t); n != 1 {
		t.Errorf("got %d lines, want 1", n)
	}
}

// A job that is enqueued in a transaction that rolls back does not run.
func TestEnqueueCommitsWithTransaction(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	begun := make(chan int64, 2)
	s.Handle(models.JobExport, jobs.Handler{Do: func(ctx context.Context, r *jobs.Attempt) error {
		begun <- r.ID
		return r.Commit(ctx, func(*gorm.DB) error { return nil })
	}})
	var lost models.Job
	err := s.db.Transaction(t.Context(), func(tx *gorm.DB) (err error) {
		if lost, err = s.Enqueue(tx, s.by, models.JobExport, uuid.New(), uuid.Nil); err != nil {
			return err
		}
		return errors.New("rollback")
	})
	if err == nil || lost.ID == 0 {
		t.Fatalf("got error %v and job id %d, want both", err, lost.ID)
	}
	startQueue(t, s.Queue)
	w := s.enqueue(t, uuid.Nil)
	if got := <-begun; got != w.ID {
		t.Errorf("job %d ran, want %d", got, w.ID)
	}
}

// Constraint violations in a handler's transactions are translated to the handler's errors. A job
// that violates a constraint fails without a retry. If Undo causes a violation, the job cannot be
// cancelled.
func TestHandlerConstraints(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	exists := apperr.New(apperr.Conflict, "exists", "The export already exists.")
	twice := func(tx *gorm.DB) error {
		return tx.Exec(`INSERT INTO exports (id, staff_id, filter, created_at) SELECT $1, $1, '{}', now() FROM generate_series(1, 2)`,
			uuid.New()).Error
	}
	s.Handle(models.JobExport, jobs.Handler{
		Do:          func(ctx context.Context, r *jobs.Attempt) error { return r.Commit(ctx, twice) },
		Undo:        func(tx *gorm.DB, w models.Job) error { return twice(tx) },
		Constraints: postgres.Constraints{"exports_pkey": exists},
	})
	if err := s.Cancel(t.Context(), scope.Everywhere, s.by, s.enqueue(t, uuid.Nil).ID); !errors.Is(err, exists) {
		t.Errorf("Cancel returned %v, want %v", err, exists)
	}
	s.Handle(models.JobExport, jobs.Handler{
		Do:          func(ctx context.Context, r *jobs.Attempt) error { return r.Commit(ctx, twice) },
		Constraints: postgres.Constraints{"exports_pkey": exists},
	})
	startQueue(t, s.Queue)
	if w := s.awaitState(t, s.enqueue(t, uuid.Nil), models.JobFailed); w.Attempt != 1 || w.Failure != exists.Message {
		t.Errorf("failed after %d attempts with %q, want 1 and %q", w.Attempt, w.Failure, exists.Message)
	}
}

// Cancel stops a running job. The job's later writes fail, and its earlier writes are undone.
func TestRunningJobIsCancelled(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	written, ended := make(chan struct{}), make(chan error, 1)
	s.Handle(models.JobExport, jobs.Handler{
		Do: func(ctx context.Context, r *jobs.Attempt) error {
			if err := r.Step(ctx, line); err != nil {
				return err
			}
			close(written)
			<-ctx.Done()
			ended <- r.Commit(context.WithoutCancel(ctx), line)
			return ctx.Err()
		},
		Undo: func(tx *gorm.DB, w models.Job) error { return tx.Exec(`DELETE FROM exports`).Error },
	})
	startQueue(t, s.Queue)
	w := s.enqueue(t, uuid.Nil)
	<-written
	if err := s.Cancel(t.Context(), scope.Partners(uuid.New()), audit.Actor{Name: "another", Staff: uuid.New()}, w.ID); apperr.As(err) == nil || apperr.As(err).Code != apperr.NotFound {
		t.Errorf("a user who cannot see the job: got %v, want not found", err)
	}
	if err := s.Cancel(t.Context(), scope.Everywhere, s.by, w.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, jobs.ErrSuperseded) {
		t.Errorf("the job's commit returned %v, want ErrSuperseded", err)
	}
	if w = s.get(t, w); w.State != models.JobCancelled || !strings.Contains(w.Failure, s.by.Name) || s.wrote(t) != 0 {
		t.Errorf("got state %s, failure %q and %d lines, want cancelled, the user's name and 0", w.State, w.Failure, s.wrote(t))
	}
	if err := s.Cancel(t.Context(), scope.Everywhere, s.by, w.ID); apperr.As(err) == nil ||
		apperr.As(err).Code != apperr.Conflict {
		t.Errorf("the second Cancel returned %v, want a conflict", err)
	}
}
