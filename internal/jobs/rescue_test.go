package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/jobs"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// Whoever cancels stops what is under way; its next write comes to nothing, and what it
// wrote before is undone.
func TestWorkIsCancelled(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	written, ended := make(chan struct{}), make(chan error, 1)
	s.Handle(models.WorkExport, jobs.Handler{
		Do: func(ctx context.Context, r *jobs.Run) error {
			if err := r.Step(ctx, line); err != nil {
				return err
			}
			close(written)
			<-ctx.Done()
			ended <- r.Commit(context.WithoutCancel(ctx), line)
			return ctx.Err()
		},
		Undo: func(tx *gorm.DB, w models.Work) error { return tx.Exec(`DELETE FROM exports`).Error },
	})
	runs(t, s.Queue)
	w := s.ask(t, uuid.Nil)
	<-written
	if err := s.Cancel(t.Context(), scope.Partners(uuid.New()), audit.Actor{Name: "another", Staff: uuid.New()}, w.ID); apperr.As(err) == nil || apperr.As(err).Code != apperr.NotFound {
		t.Errorf("somebody who may not see it: %v", err)
	}
	if err := s.Cancel(t.Context(), scope.Everywhere, s.by, w.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, jobs.ErrLost) {
		t.Errorf("its commit: %v", err)
	}
	if w = s.get(t, w); w.State != models.WorkCancelled || !strings.Contains(w.Failure, s.by.Name) || s.wrote(t) != 0 {
		t.Errorf("%s, %q, %d lines", w.State, w.Failure, s.wrote(t))
	}
	if err := s.Cancel(t.Context(), scope.Everywhere, s.by, w.ID); apperr.As(err) == nil ||
		apperr.As(err).Code != apperr.Conflict {
		t.Errorf("again: %v", err)
	}
}

// A worker that is not heard of loses its work to another node, and cannot write any
// more, though it lives.
func TestWorkOfASilentWorkerIsTakenUp(t *testing.T) {
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
		s.db.Exec(t, `UPDATE work SET beat_at = $1 WHERE id = $2 AND attempt = 1`, testkit.Began().Add(-time.Hour), w.ID)
		return s.get(t, w).Attempt == 2
	})
	s.becomes(t, w, models.WorkDone)
	close(late)
	if err := silent.Commit(t.Context(), line); !errors.Is(err, jobs.ErrLost) {
		t.Errorf("the first worker's commit: %v", err)
	}
	if n := s.wrote(t); n != 1 {
		t.Errorf("%d lines, want the second worker's", n)
	}
}

// A node that stops hands on what it was doing, and that is no failed try.
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
		t.Errorf("%s after try %d", w.State, w.Attempt)
	}
	next := s.queue(t)
	next.Handle(models.WorkExport, jobs.Handler{Do: func(ctx context.Context, r *jobs.Run) error { return r.Commit(ctx, line) }})
	runs(t, next)
	s.becomes(t, w, models.WorkDone)
}

// A step may take minutes: meanwhile it shows how far the work is, and who wants to stop it
// need not wait for its end.
func TestALongStepIsSeenAndStopped(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	ended := make(chan error, 1)
	s.Handle(models.WorkExport, jobs.Handler{Do: func(ctx context.Context, r *jobs.Run) error {
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
	runs(t, s.Queue)
	w := s.ask(t, uuid.Nil)
	testkit.Eventually(t, soon, "the step is under way and shows how far the work is", func() bool {
		return s.get(t, w).Done == 3 && testkit.Value[bool](t, s.db,
			`SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep')`)
	})
	if err := s.Cancel(t.Context(), scope.Everywhere, s.by, w.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the step went on to its end")
	}
	if w = s.get(t, w); w.State != models.WorkCancelled || w.Done != 3 || s.wrote(t) != 0 {
		t.Errorf("%s at %d, %d lines", w.State, w.Done, s.wrote(t))
	}
}

// Work waits for a job that nobody will do: its node died between taking it and saying so,
// or the queue gave it up.
func TestWorkThatIsStrandedIsTakenUp(t *testing.T) {
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
				t.Errorf("try %d, %d lines", w.Attempt, s.wrote(t))
			}
			if testkit.Value[bool](t, s.db, `SELECT EXISTS (SELECT FROM river.river_job WHERE id = $1 AND state = 'running' AND NOT metadata ? 'cancel_attempted_at')`, dead) {
				t.Error("the dead worker's job runs forever, want it cancelled")
			}
		})
	}
}

// Work whose worker was lost has the attempts that are left, not five more.
func TestRescuedWorkKeepsItsAttempts(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	s.Handle(models.WorkExport, jobs.Handler{Do: func(context.Context, *jobs.Run) error { return errors.New("the network") }})
	w := s.ask(t, uuid.Nil)
	s.db.Exec(t, `UPDATE river.river_job SET state = 'running', attempt = 4, attempted_at = now() WHERE id = $1`, *w.JobID)
	s.db.Exec(t, `UPDATE work SET state = 'running', attempt = 4, beat_at = $1 WHERE id = $2`,
		testkit.Began().Add(-time.Hour), w.ID)
	runs(t, s.Queue)
	if w = s.becomes(t, w, models.WorkFailed); w.Attempt != 5 {
		t.Errorf("failed after attempt %d, want 5", w.Attempt)
	}
}

// What the queue says of the database's errors names no host, no user and no database.
func TestTheQueuesLogIsSafe(t *testing.T) {
	_, err := pgx.Connect(t.Context(), "postgres://canary:canary@127.0.0.1:1/canary")
	var text bytes.Buffer
	log := jobs.Quiet(slog.New(slog.NewJSONHandler(&text, nil)))
	log.Error("Error fetching jobs", slog.String("err", err.Error()), slog.Any("error", err), slog.Any("cause", err),
		slog.String("queue", "default"))
	log.Info("nobody wants to know")
	if got := text.String(); strings.Contains(got, "canary") || strings.Contains(got, "nobody") ||
		!strings.Contains(got, `"queue":"default"`) {
		t.Error(got)
	}
}
