package jobs

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Attempt is an attempt to run a job.
type Attempt struct {
	models.Job
	db    *postgres.DB
	clock clock.Clock

	mu          sync.Mutex
	phase       string
	done, total int64
}

// NewInlineAttempt returns an Attempt without a row in the table jobs, for commands whose work ends with the command.
// Queue.RunNow runs a job that a node continues if the command stops.
func NewInlineAttempt(db *postgres.DB, c clock.Clock, w models.Job) *Attempt {
	w.ID = 0
	return &Attempt{Job: w, db: db, clock: c}
}

// withoutRow reports whether the job has no row in the table jobs.
func (r *Attempt) withoutRow() bool { return r.ID == 0 }

// Actor returns the user or process that enqueued the job.
func (r *Attempt) Actor() audit.Actor {
	by := audit.Actor{Name: r.EnqueuedBy}
	if r.StaffID != nil {
		by.Staff = *r.StaffID
	}
	return by
}

// Progress sets the phase of the job and the number of units of work that are done. If total is 0, the
// total is unknown. The progress is saved to the database every second.
func (r *Attempt) Progress(phase string, done, total int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase, r.done, r.total = phase, done, total
}

func (r *Attempt) progress() map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return map[string]any{"phase": r.phase, "done": r.done, "total": r.total, "heartbeat_at": r.clock.Now()}
}

// Step runs fn in a transaction. If the job fails later, the data that fn has written is kept, so that
// the next attempt does not have to write it again. During a step, which can take minutes, the progress
// can be saved and the job can be cancelled.
func (r *Attempt) Step(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return r.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := r.hold(tx); err != nil {
			return err
		}
		return fn(tx)
	})
}

// Commit runs fn and marks the job as done, in one transaction.
func (r *Attempt) Commit(ctx context.Context, fn func(tx *gorm.DB) error) error {
	columns := r.progress()
	columns["state"], columns["ended_at"], columns["failure"] = models.JobDone, r.clock.Now(), ""
	return r.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := r.update(tx, columns); err != nil {
			return err
		}
		return fn(tx)
	})
}

// CommitPgx is like Commit, but commits the pgx transaction tx, in which the job has already written
// data. The rows that the handler's Undo function changes may be written only by the function last.
// Cancel locks the job's row before these rows, and CommitPgx must use the same order.
func (r *Attempt) CommitPgx(ctx context.Context, tx pgx.Tx, last func() error) error {
	if !r.withoutRow() {
		args := pgx.NamedArgs(r.progress())
		args["ended_at"] = r.clock.Now()
		maps.Copy(args, r.owner())
		q, err := tx.Exec(ctx, `UPDATE jobs SET state = 'done', failure = '', phase = @phase, done = @done, total = @total,
			ended_at = @ended_at WHERE `+isOurs, args)
		if err != nil {
			return postgres.Translate(err)
		}
		if q.RowsAffected() == 0 {
			return ErrSuperseded
		}
	}
	if err := last(); err != nil {
		return err
	}
	return postgres.Translate(tx.Commit(ctx))
}

// beat saves the progress regularly until ctx ends. This shows other workers that the worker is alive.
func (r *Attempt) beat(ctx context.Context) {
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.update(r.db.Gorm.WithContext(ctx), r.progress()) //nolint:errcheck // Step and Commit check again
		}
	}
}
