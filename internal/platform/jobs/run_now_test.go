package jobs_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/models"
)

// A job that RunNow runs is in the table like the others. An object has at most one open job.
func TestRunNow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failure error
		state   models.JobState
	}{
		"done":          {nil, models.JobDone},
		"apperr error":  {apperr.New(apperr.Invalid, "file", "This is not a CSV file."), models.JobFailed},
		"another error": {errors.New("the network"), models.JobWaiting}, // a node tries again
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLineQueue(t)
			object := uuid.New()
			s.Handle(models.JobExport, jobs.Handler{Object: id.Export, Do: func(ctx context.Context, r *jobs.Attempt) error {
				if err := s.RunNow(ctx, s.by, models.JobExport, object, uuid.Nil); !errors.Is(err, jobs.ErrRunning) {
					t.Errorf("while it runs: got error %v", err)
				}
				if c.failure != nil {
					return c.failure
				}
				return r.Commit(ctx, line)
			}})
			if err := s.RunNow(t.Context(), s.by, models.JobExport, object, uuid.Nil); !errors.Is(err, c.failure) {
				t.Errorf("got error %v, want %v", err, c.failure)
			}
			w, found, err := s.Latest(t.Context(), object)
			if err != nil || !found || w.State != c.state || w.Attempt != 1 || w.RiverJobID != nil ||
				w.EnqueuedBy != s.by.Name || w.StartedAt == nil || (w.EndedAt == nil) != (c.state == models.JobWaiting) {
				t.Errorf("got job %+v (%v)", w, err)
			}
		})
	}
}

// RunNow runs a waiting job instead of a second one. The queue does not run it again.
func TestRunNowRunsWaitingJob(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	s.Handle(models.JobExport,
		jobs.Handler{Do: func(ctx context.Context, r *jobs.Attempt) error { return r.Commit(ctx, line) }})
	w := s.enqueue(t, uuid.Nil)
	if err := s.RunNow(t.Context(), audit.Operator, models.JobExport, w.ObjectID, uuid.Nil); err != nil {
		t.Fatal(err)
	}
	stop := startQueue(t, s.Queue)
	next := s.enqueue(t, uuid.Nil)
	s.awaitState(t, next, models.JobDone)
	stop()
	if got := s.get(t, w); got.State != models.JobDone || got.Attempt != 1 || got.EnqueuedBy != s.by.Name ||
		s.wrote(t) != 2 {
		t.Errorf("got job %+v and %d lines, want one line for each job", got, s.wrote(t))
	}
}

// If a command stops, a node continues its job. The command can no longer write.
func TestNodeContinuesRunNow(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	object, begun := uuid.New(), make(chan *jobs.Attempt, 2)
	s.Handle(models.JobExport, jobs.Handler{Do: func(ctx context.Context, r *jobs.Attempt) error {
		begun <- r
		if r.Attempt == 1 {
			<-ctx.Done()
			return ctx.Err()
		}
		return r.Commit(ctx, line)
	}})
	ctx, stop := context.WithCancel(t.Context())
	var command sync.WaitGroup
	command.Go(func() {
		if err := s.RunNow(ctx, audit.Operator, models.JobExport, object, uuid.Nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v", err)
		}
	})
	first := <-begun
	stop()
	command.Wait()
	s.clock.Advance(jobs.HeartbeatTimeout + time.Second)
	startQueue(t, s.Queue)
	w, _, err := s.Latest(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	if w = s.awaitState(t, w, models.JobDone); w.Attempt != 2 {
		t.Errorf("got %d attempts, want 2", w.Attempt)
	}
	if err := first.Commit(t.Context(), line); !errors.Is(err, jobs.ErrSuperseded) {
		t.Errorf("the command's commit returned %v, want ErrSuperseded", err)
	}
	if n := s.wrote(t); n != 1 {
		t.Errorf("got %d lines, want 1", n)
	}
}

// Of several commands that start at the same time, one runs the job.
func TestConcurrentRunNow(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	object, release := uuid.New(), make(chan struct{})
	s.Handle(models.JobExport, jobs.Handler{Do: func(ctx context.Context, r *jobs.Attempt) error {
		<-release
		return r.Commit(ctx, line)
	}})
	results := make(chan error)
	for range 4 {
		go func() { results <- s.RunNow(t.Context(), s.by, models.JobExport, object, uuid.Nil) }()
	}
	for range 3 {
		if err := <-results; !errors.Is(err, jobs.ErrRunning) {
			t.Errorf("got error %v", err)
		}
	}
	close(release)
	if err := <-results; err != nil {
		t.Error(err)
	}
	if n := testkit.Value[int](t, s.db, `SELECT count(*) FROM jobs`); n != 1 || s.wrote(t) != 1 {
		t.Errorf("got %d jobs and %d lines, want 1 and 1", n, s.wrote(t))
	}
}
