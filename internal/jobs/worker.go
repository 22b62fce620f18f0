package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/migrations"
	"github.com/pingpost/pingpost/models"
)

const (
	// atOnce is how many pieces of work a node does side by side: leads come first.
	atOnce = 2
	// lookEvery is how often a node looks for work. River's LISTEN would take one more
	// connection of each node for good, to save a second of a job of minutes.
	lookEvery = time.Second
	// waitAtMost is how long a node waits, at last, before it tries a database again that
	// did not answer when the node began to look.
	waitAtMost = 30 * time.Second
	endWithin  = 5 * time.Second
	stopWithin = 20 * time.Second
)

// Work does what is asked for until ctx ends. Nodes may do it side by side.
func (d *Queue) Work(ctx context.Context) {
	var search sync.WaitGroup
	search.Go(func() { d.searchForDead(ctx) })
	defer search.Wait()
	for wait := lookEvery; ctx.Err() == nil; wait = min(2*wait, waitAtMost) {
		if err := d.workUntil(ctx); err != nil && ctx.Err() == nil {
			d.log.Warn("the queue of work does not answer and is tried again", "error", postgres.Translate(err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

func (d *Queue) workUntil(ctx context.Context) error {
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, river.WorkFunc(d.do)); err != nil {
		return err
	}
	queue, err := river.NewClient(riverpgxv5.New(d.db.Pool), &river.Config{
		Schema: migrations.RiverSchema, Logger: riverLog(d.log), Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: atOnce}},
		PollOnly: true, FetchPollInterval: lookEvery, JobTimeout: -1,
		ReindexerSchedule: river.NeverSchedule(), // it would need to own the tables
	})
	if err != nil {
		return err
	}
	if err := queue.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	<-ctx.Done()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	return queue.StopAndCancel(stopping)
}

// do works on one job of the queue. What it returns River keeps, so that it says no
// more than a person may read.
func (d *Queue) do(ctx context.Context, j *river.Job[job]) error {
	r, err := d.claim(ctx, j)
	if errors.Is(err, ErrLost) {
		return river.JobCancel(err)
	}
	if err != nil {
		return errors.New("the work could not be begun")
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var heart sync.WaitGroup
	heart.Go(func() { r.beat(running, cancel) })
	err = d.attempt(running, r)
	if err != nil && errors.Is(context.Cause(running), ErrLost) {
		err = ErrLost
	}
	cancel(nil)
	heart.Wait()
	return d.settle(ctx, j, r, err)
}

// attempt does the work; a panic in it is a failure like any other.
func (d *Queue) attempt(ctx context.Context, r *Run) (err error) {
	defer func() {
		if p := recover(); p != nil {
			d.log.Error("work panicked", "kind", r.Kind, "work", r.ID, "stack", string(debug.Stack()))
			err = errors.New("it panicked")
		}
	}()
	return d.handlers[r.Kind].Do(ctx, r)
}

// claim begins a try. It refuses work that has ended or has another job by now, and a
// second worker while the first is alive, should River hand the job out twice.
func (d *Queue) claim(ctx context.Context, j *river.Job[job]) (*Run, error) {
	now := d.clock.Now()
	var w models.Work
	q := d.db.Gorm.WithContext(ctx).Raw(`UPDATE work SET state = 'running', attempt = attempt + 1, beat_at = ?, started_at = coalesce(started_at, ?)
		WHERE id = ? AND job_id = ? AND (state = 'waiting' OR (state = 'running' AND beat_at < ?)) RETURNING *`, now, now, j.Args.Work, j.ID, now.Add(-silentFor)).Scan(&w)
	if q.Error != nil {
		return nil, q.Error
	}
	if q.RowsAffected == 0 {
		return nil, ErrLost
	}
	return &Run{Work: w, db: d.db.WithConstraints(d.handlers[w.Kind].Constraints), clock: d.clock, phase: w.Phase, done: w.Done, total: w.Total}, nil
}

// settle says what became of a try.
func (d *Queue) settle(ctx context.Context, j *river.Job[job], r *Run, err error) error {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	told := apperr.As(err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrLost):
		return river.JobCancel(ErrLost)
	case ctx.Err() != nil: // the node stops: another one goes on
		d.saveState(ending, r, map[string]any{"state": models.WorkWaiting, "attempt": gorm.Expr("attempt - 1")})
		return river.JobSnooze(0)
	case told != nil:
		return d.giveUp(ending, r, told.Message)
	case r.Attempt >= tries:
		d.log.Error("work failed for good", "kind", r.Kind, "work", r.ID, "tries", r.Attempt, "error", postgres.Translate(err))
		return d.giveUp(ending, r, fmt.Sprintf("It failed %d times, the last time for a reason on our side. Ask for it again; when it fails again, the log has work %d.", r.Attempt, r.ID))
	}
	d.log.Warn("work failed and is tried again", "kind", r.Kind, "work", r.ID, "try", r.Attempt, "error", postgres.Translate(err))
	d.saveState(ending, r, map[string]any{"state": models.WorkWaiting, "failure": "The last try failed on our side; it is tried again."})
	return river.JobSnooze(time.Duration(r.Attempt) * time.Second)
}

// tell records the state of a try. When that fails, the work is taken up again like that
// of a worker that died.
func (d *Queue) saveState(ctx context.Context, r *Run, columns map[string]any) {
	if err := r.update(d.db.Gorm.WithContext(ctx), columns); err != nil {
		d.log.Warn("the state of work was not written down", "kind", r.Kind, "work", r.ID, "error", postgres.Translate(err))
	}
}

func (d *Queue) giveUp(ctx context.Context, r *Run, failure string) error {
	err := d.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := r.update(tx, r.progress()); err != nil {
			return err
		}
		return d.fail(tx, r.Work, failure)
	})
	if err != nil && !errors.Is(err, ErrLost) {
		return errors.New("that the work failed could not be written down")
	}
	return river.JobCancel(errors.New(failure))
}

// fail gives work up for good, in nobody's name.
func (d *Queue) fail(tx *gorm.DB, w models.Work, failure string) error {
	if err := d.end(tx, w, models.WorkFailed, failure); err != nil {
		return err
	}
	return d.note(tx, audit.Service, "work.fail", w, failure)
}
