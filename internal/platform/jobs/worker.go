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

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// These are limits and intervals for jobs. If a worker dies, another worker takes over its job at most
// heartbeatTimeout plus searchEvery after the last progress report.
const (
	// maxConcurrentJobs is the number of jobs that a node runs at the same time. It is small,
	// because processing leads has priority.
	maxConcurrentJobs = 2
	// maxAttempts is the number of attempts after which a job fails. The attempts of all River jobs
	// for the same row are counted together.
	maxAttempts = 5

	// pollInterval is how often a node looks for jobs. LISTEN would start a job up to a second earlier,
	// but each node would permanently use one more connection.
	pollInterval = time.Second
	// maxRetryWait is the longest wait between attempts to start River while the database is
	// unavailable.
	maxRetryWait = 30 * time.Second

	// heartbeatInterval is how often a worker reports its progress. It is much shorter than
	// heartbeatTimeout, so that a worker does not lose its job when a few reports are lost.
	heartbeatInterval = time.Second
	// heartbeatTimeout is the time without a progress report after which another worker takes over
	// the job.
	heartbeatTimeout = 20 * time.Second
	// searchEvery is how often a node looks for jobs whose worker has died.
	searchEvery = 5 * time.Second

	// endTimeout is the maximum time for recording the start or the result of an attempt. It is shorter
	// than stopTimeout, so that workers can still record results while their node stops.
	endTimeout = 5 * time.Second
	// stopTimeout is how long a stopping node waits for its workers.
	stopTimeout = 20 * time.Second
)

// Run runs jobs until ctx ends. Several nodes can run jobs from the same queue.
func (q *Queue) Run(ctx context.Context) {
	var search sync.WaitGroup
	search.Go(func() { q.rescueLoop(ctx) })
	defer search.Wait()
	for wait := pollInterval; ctx.Err() == nil; wait = min(2*wait, maxRetryWait) {
		err := q.river.Start(context.WithoutCancel(ctx))
		if err == nil {
			break
		}
		q.log.Warn("job queue unavailable, retrying", "error", postgres.Translate(err))
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

// This method runs one River job. The error that it returns must not contain secrets or personal data,
// because River stores the error.
func (q *Queue) do(ctx context.Context, j *river.Job[job]) error {
	r, err := q.claim(ctx, j)
	if errors.Is(err, ErrSuperseded) {
		return river.JobCancel(err)
	}
	if err != nil {
		q.log.Warn("cannot claim a job, retrying", "job", j.Args.ID, "error", postgres.Translate(err))
		return river.JobSnooze(pollInterval)
	}
	return q.settle(ctx, j, r, q.attempt(ctx, r))
}

// attempt calls the job's handler, and reports the job's progress until the handler returns.
func (q *Queue) attempt(ctx context.Context, r *Attempt) error {
	beating, stop := context.WithCancel(ctx)
	var heart sync.WaitGroup
	heart.Go(func() { r.beat(beating) })
	defer heart.Wait()
	defer stop()
	return q.handle(ctx, r)
}

// handle calls the job's handler and turns a panic into an error. Otherwise River would store and log
// the panic's value, which may contain personal data.
func (q *Queue) handle(ctx context.Context, r *Attempt) (err error) {
	defer func() {
		if p := recover(); p != nil {
			q.log.Error("job panicked", "kind", r.Kind, "job", r.ID, "stack", string(debug.Stack()))
			err = errors.New("job panicked")
		}
	}()
	return q.handlers[r.Kind].Do(ctx, r)
}

// claim marks a job as running and returns an Attempt for it. It returns ErrSuperseded if the job has ended,
// if the job belongs to another River job, or if another worker is still running the job.
//
// It does not stop when ctx ends. Otherwise, if the node stopped before the database responded, the node would not know
// whether the job was marked, and the job would wait until it is rescued.
func (q *Queue) claim(ctx context.Context, j *river.Job[job]) (*Attempt, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	now := q.clock.Now()
	var w models.Job
	result := q.db.Gorm.WithContext(ctx).Raw(`UPDATE jobs SET state = 'running', attempt = ?, heartbeat_at = ?, started_at = coalesce(started_at, ?)
		WHERE id = ? AND river_job_id = ? AND (state = 'waiting' OR (state = 'running' AND heartbeat_at < ?))
		RETURNING `+postgres.Columns[models.Job]("jobs"), attemptOf(j.JobRow), now, now, j.Args.ID, j.ID, now.Add(-heartbeatTimeout)).Scan(&w)
	if result.Error != nil {
		return nil, result.Error
	}
	if result.RowsAffected == 0 {
		return nil, ErrSuperseded
	}
	return q.newAttempt(w), nil
}

func (q *Queue) newAttempt(w models.Job) *Attempt {
	return &Attempt{
		Job: w, db: q.db.WithConstraints(q.handlers[w.Kind].Constraints), clock: q.clock,
		phase: w.Phase, done: w.Done, total: w.Total,
	}
}

// settle records the result of an attempt and returns the result of the River job.
// The first matching row of this table applies:
//
//	the attempt returned           the job's row           River
//	nil                            done, by Attempt.Commit     completes the job
//	ErrSuperseded, or cancelled    unchanged               cancels the job
//	an error while the node stops  waiting, attempt - 1    makes the job available, attempt - 1
//	an apperr error                failed                  cancels the job
//	another error, last attempt    failed                  cancels the job
//	another error                  waiting, with failure   retries the job (retryPolicy)
//
// The attempt counts of River and of the row must agree (see attemptOf). River decrements its count
// if settle returns the context's cause, so settle decrements the row's count too.
func (q *Queue) settle(ctx context.Context, j *river.Job[job], r *Attempt, err error) error {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	final := apperr.As(err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrSuperseded), errors.Is(context.Cause(ctx), river.ErrJobCancelledRemotely):
		return river.JobCancel(ErrSuperseded)
	case ctx.Err() != nil: // the node is stopping; another node continues
		q.saveState(ending, r, map[string]any{"state": models.JobWaiting, "attempt": gorm.Expr("attempt - 1")})
		return context.Cause(ctx)
	case final != nil:
		if cause := errors.Unwrap(final); cause != nil {
			q.log.Warn("job failed", "kind", r.Kind, "job", r.ID, "reason", final.Reason, "error", postgres.Translate(cause))
		}
		return q.giveUp(ending, r, final.Message)
	case j.Attempt >= j.MaxAttempts:
		q.log.Error("job failed permanently", "kind", r.Kind, "job", r.ID, "attempt", r.Attempt, "error",
			postgres.Translate(err))
		return q.giveUp(ending, r,
			fmt.Sprintf("The job failed %d times because of an internal error. Try again. If it fails again, report job number %d to an administrator.",
				r.Attempt, r.ID))
	}
	q.log.Warn("job failed, retrying", "kind", r.Kind, "job", r.ID, "attempt", r.Attempt, "error",
		postgres.Translate(err))
	q.saveState(ending, r, map[string]any{
		"state":   models.JobWaiting,
		"failure": "The last attempt failed because of an internal error. Retrying.",
	})
	return errors.New("attempt failed; see the log")
}

// saveState records the state of a job after an attempt. If this fails, another worker takes over the
// job after heartbeatTimeout.
func (q *Queue) saveState(ctx context.Context, r *Attempt, columns map[string]any) {
	if err := r.update(q.db.Gorm.WithContext(ctx), columns); err != nil {
		q.log.Warn("cannot save the state of a job", "kind", r.Kind, "job", r.ID, "error", postgres.Translate(err))
	}
}

// giveUp marks the job as failed. The parameter failure is the message for users.
func (q *Queue) giveUp(ctx context.Context, r *Attempt, failure string) error {
	if err := q.saveFailure(ctx, r, failure); err != nil {
		return err
	}
	return river.JobCancel(errors.New(failure))
}

// saveFailure marks the job as failed, unless it no longer belongs to r.
func (q *Queue) saveFailure(ctx context.Context, r *Attempt, failure string) error {
	err := q.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := r.update(tx, r.progress()); err != nil {
			return err
		}
		return q.fail(tx, r.Job, failure)
	})
	if err != nil && !errors.Is(err, ErrSuperseded) {
		q.log.Error("cannot record that a job failed", "kind", r.Kind, "job", r.ID, "error", postgres.Translate(err))
		return errors.New("cannot record that the job failed; see the log")
	}
	return nil
}
