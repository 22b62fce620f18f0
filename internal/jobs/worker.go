package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/models"
)

// The limits and times of work. Another worker takes over the work of a dead one within
// heartbeatTimeout and searchEvery of its last report.
const (
	// maxConcurrentJobs is how many pieces of work a node does side by side: leads come first.
	maxConcurrentJobs = 2
	// maxAttempts is how many attempts work gets, over all its jobs, before it fails.
	maxAttempts = 5

	// lookEvery is how often a node looks for work. River's LISTEN would take one more
	// connection of each node for good, to save a second of a job of minutes.
	lookEvery = time.Second
	// maxRetryWait is how long a node waits, at last, before it tries a database again that
	// did not answer when the node began to look.
	maxRetryWait = 30 * time.Second

	// heartbeatInterval is how often a worker reports its progress. It is far below heartbeatTimeout, so
	// that a few lost reports do not cost a worker its work.
	heartbeatInterval = time.Second
	// heartbeatTimeout is how long a worker may go without a report before another takes over.
	heartbeatTimeout = 20 * time.Second
	// searchEvery is how often a node looks for work of silent workers.
	searchEvery = 5 * time.Second

	// endTimeout limits how long a worker takes to record how its attempt ended. It is
	// less than stopTimeout, so that workers can do so while their node stops.
	endTimeout = 5 * time.Second
	// stopTimeout limits how long a node waits for its workers when it stops.
	stopTimeout = 20 * time.Second
)

// Run does what is asked for until ctx ends. Nodes may do it side by side.
func (q *Queue) Run(ctx context.Context) {
	var search sync.WaitGroup
	search.Go(func() { q.rescueLoop(ctx) })
	defer search.Wait()
	for wait := lookEvery; ctx.Err() == nil; wait = min(2*wait, maxRetryWait) {
		err := q.river.Start(context.WithoutCancel(ctx))
		if err == nil {
			break
		}
		q.log.Warn("the queue of work does not answer and is tried again", "error", postgres.Translate(err))
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	<-ctx.Done()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := q.river.StopAndCancel(stopping); err != nil {
		q.log.Warn("jobs did not stop in time", "error", err)
	}
}

// do works on one job of the queue. What it returns River keeps, so that it says no
// more than a person may read.
func (q *Queue) do(ctx context.Context, j *river.Job[job]) error {
	r, err := q.claim(ctx, j)
	if errors.Is(err, ErrSuperseded) {
		return river.JobCancel(err)
	}
	if err != nil {
		q.log.Warn("a job could not be claimed and is tried again", "work", j.Args.Work, "error", postgres.Translate(err))
		return river.JobSnooze(lookEvery)
	}
	beating, stop := context.WithCancel(ctx)
	var heart sync.WaitGroup
	heart.Go(func() { r.beat(beating) })
	err = q.attempt(ctx, r)
	stop()
	heart.Wait()
	return q.settle(ctx, j, r, err)
}

// attempt does the work; a panic in it is a failure like any other. River would store and
// log the panic's value, which may hold personal data.
func (q *Queue) attempt(ctx context.Context, r *Run) (err error) {
	defer func() {
		if p := recover(); p != nil {
			q.log.Error("work panicked", "kind", r.Kind, "work", r.ID, "stack", string(debug.Stack()))
			err = errors.New("it panicked")
		}
	}()
	return q.handlers[r.Kind].Do(ctx, r)
}

// claim begins an attempt. It refuses work that has ended or has another job by now, and a
// second worker while the first is alive, should River hand the job out twice.
func (q *Queue) claim(ctx context.Context, j *river.Job[job]) (*Run, error) {
	now := q.clock.Now()
	var w models.Job
	result := q.db.Gorm.WithContext(ctx).Raw(`UPDATE work SET state = 'running', attempt = ?, beat_at = ?, started_at = coalesce(started_at, ?)
		WHERE id = ? AND job_id = ? AND (state = 'waiting' OR (state = 'running' AND beat_at < ?)) RETURNING *`, attemptOf(j.JobRow), now, now, j.Args.Work, j.ID, now.Add(-heartbeatTimeout)).Scan(&w)
	if result.Error != nil {
		return nil, result.Error
	}
	if result.RowsAffected == 0 {
		return nil, ErrSuperseded
	}
	return &Run{
		Job: w, db: q.db.WithConstraints(q.handlers[w.Kind].Constraints), clock: q.clock,
		phase: w.Phase, done: w.Done, total: w.Total,
	}, nil
}

// settle records how an attempt ended and returns the result of its job to River.
// Of several cases, the first one counts:
//
//	the attempt returned           the work's row          River
//	nil                            done, by Run.Commit     completes the job
//	ErrSuperseded, or cancelled    unchanged               cancels the job
//	an error while the node stops  waiting, attempt - 1    makes the job available, attempt - 1
//	an apperr error                failed                  cancels the job
//	another error, last attempt    failed                  cancels the job
//	another error                  waiting, with failure   retries the job (retryPolicy)
//
// Both counts of attempts must agree (attemptOf). River reduces its own when it gets the
// cause of the context, so settle reduces the row's.
func (q *Queue) settle(ctx context.Context, j *river.Job[job], r *Run, err error) error {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	final := apperr.As(err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrSuperseded), errors.Is(context.Cause(ctx), river.ErrJobCancelledRemotely):
		return river.JobCancel(ErrSuperseded)
	case ctx.Err() != nil: // the node stops: another one goes on
		q.saveState(ending, r, map[string]any{"state": models.WorkWaiting, "attempt": gorm.Expr("attempt - 1")})
		return context.Cause(ctx)
	case final != nil:
		if cause := errors.Unwrap(final); cause != nil {
			q.log.Warn("work failed", "kind", r.Kind, "work", r.ID, "reason", final.Reason, "error", postgres.Translate(cause))
		}
		return q.giveUp(ending, r, final.Message)
	case j.Attempt >= j.MaxAttempts:
		q.log.Error("work failed for good", "kind", r.Kind, "work", r.ID, "attempt", r.Attempt, "error", postgres.Translate(err))
		return q.giveUp(ending, r,
			fmt.Sprintf("It failed %d times, the last time for a reason on our side. Ask for it again; when it fails again, the log has work %d.",
				r.Attempt, r.ID))
	}
	q.log.Warn("work failed and is tried again", "kind", r.Kind, "work", r.ID, "attempt", r.Attempt, "error",
		postgres.Translate(err))
	q.saveState(ending, r, map[string]any{
		"state":   models.WorkWaiting,
		"failure": "The last try failed on our side; it is tried again.",
	})
	return errors.New("the attempt failed; the log has its error")
}

// saveState records the state after an attempt. When that fails, the work is taken up
// again like that of a worker that died.
func (q *Queue) saveState(ctx context.Context, r *Run, columns map[string]any) {
	if err := r.update(q.db.Gorm.WithContext(ctx), columns); err != nil {
		q.log.Warn("the state of work was not written down", "kind", r.Kind, "work", r.ID, "error", postgres.Translate(err))
	}
}

func (q *Queue) giveUp(ctx context.Context, r *Run, failure string) error {
	err := q.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := r.update(tx, r.progress()); err != nil {
			return err
		}
		return q.fail(tx, r.Job, failure)
	})
	if err != nil && !errors.Is(err, ErrSuperseded) {
		q.log.Error("the failure of work was not written down", "kind", r.Kind, "work", r.ID, "error", postgres.Translate(err))
		return errors.New("that the work failed could not be written down")
	}
	return river.JobCancel(errors.New(failure))
}
