package jobs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/models"
)

func commitWithPgx(ctx context.Context, s *lineQueue, r *jobs.Attempt) error {
	tx, err := s.db.Pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	return r.CommitPgx(ctx, tx, func() error {
		_, err := tx.Exec(ctx, `INSERT INTO exports (id, staff_id, filter, created_at) VALUES ($1, $1, '{}', now())`, uuid.New())
		return err
	})
}

func TestCommitPgxWritesResultAndState(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	s.Handle(models.JobExport, jobs.Handler{Do: func(ctx context.Context, r *jobs.Attempt) error {
		r.Progress("writing lines", 7, 9)
		return commitWithPgx(ctx, s, r)
	}})
	startQueue(t, s.Queue)
	w := s.awaitState(t, s.enqueue(t, uuid.Nil), models.JobDone)
	if w.Phase != "writing lines" || w.Done != 7 || w.Total != 9 || w.EndedAt == nil || !w.EndedAt.Equal(s.clock.Now()) {
		t.Errorf("got job %+v", w)
	}
	if n := s.wrote(t); n != 1 {
		t.Errorf("got %d lines, want 1", n)
	}
}

func TestCommitPgxAfterCancelWritesNothing(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	begun, ended := make(chan struct{}), make(chan error, 1)
	s.Handle(models.JobExport, jobs.Handler{Do: func(ctx context.Context, r *jobs.Attempt) error {
		close(begun)
		<-ctx.Done()
		err := commitWithPgx(context.WithoutCancel(ctx), s, r)
		ended <- err
		return err
	}})
	startQueue(t, s.Queue)
	w := s.enqueue(t, uuid.Nil)
	<-begun
	if err := s.Cancel(t.Context(), scope.Everywhere, s.by, w.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, jobs.ErrSuperseded) {
		t.Errorf("CommitPgx returned %v, want ErrSuperseded", err)
	}
	if w = s.get(t, w); w.State != models.JobCancelled || s.wrote(t) != 0 {
		t.Errorf("got state %s and %d lines, want cancelled and 0", w.State, s.wrote(t))
	}
}
