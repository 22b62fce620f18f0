package jobs

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/models"
)

// Run is a piece of work under way.
type Run struct {
	models.Job
	db    *postgres.DB
	clock clock.Clock

	mu          sync.Mutex
	phase       string
	done, total int64
}

// NewInlineRun is a run that nobody asked for at the queue: of the command line, which does the
// work itself and is there to see it end.
func NewInlineRun(db *postgres.DB, c clock.Clock, w models.Job) *Run {
	w.JobID = nil
	return &Run{Job: w, db: db, clock: c}
}

// Progress says how far the work is: done of total, in whatever it counts; a total of 0
// is not known. It costs next to nothing: the heart writes it down.
func (r *Run) Progress(phase string, done, total int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase, r.done, r.total = phase, done, total
}

func (r *Run) progress() map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return map[string]any{"phase": r.phase, "done": r.done, "total": r.total, "beat_at": r.clock.Now()}
}

// Step writes a part of the work that stays when the rest fails: what was done by an
// earlier attempt is not done again. It may take minutes: the work's row stays free, for the
// heart that says how far the work is, and for whoever stops it.
func (r *Run) Step(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return r.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := r.hold(tx); err != nil {
			return err
		}
		return fn(tx)
	})
}

// Commit writes what the work comes to, and that it is done, at once.
func (r *Run) Commit(ctx context.Context, fn func(tx *gorm.DB) error) error {
	columns := r.progress()
	columns["state"], columns["ended_at"], columns["failure"] = models.WorkDone, r.clock.Now(), ""
	return r.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := r.update(tx, columns); err != nil {
			return err
		}
		return fn(tx)
	})
}

// CommitPgx is Commit for work that writes with pgx, in a transaction that it began
// itself. last writes what others may be waiting to change: it comes after the work's own
// row, which whoever cancels the work takes first.
func (r *Run) CommitPgx(ctx context.Context, tx pgx.Tx, last func() error) error {
	if r.JobID != nil {
		args := pgx.NamedArgs(r.progress())
		args["ended_at"] = r.clock.Now()
		maps.Copy(args, r.owner())
		q, err := tx.Exec(ctx, `UPDATE work SET state = 'done', failure = '', phase = @phase, done = @done, total = @total,
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

// beat writes down how far the work is until ctx ends.
func (r *Run) beat(ctx context.Context) {
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.update(r.db.Gorm.WithContext(ctx), r.progress()) //nolint:errcheck // Step and Commit look again
		}
	}
}
