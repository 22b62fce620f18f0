package jobs

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/models"
)

// Run is a piece of work under way.
type Run struct {
	models.Work
	db    *postgres.DB
	clock clock.Clock

	mu          sync.Mutex
	phase       string
	done, total int64
}

// NewInlineRun is a run that nobody asked for at the queue: of the command line, which does the
// work itself and is there to see it end.
func NewInlineRun(db *postgres.DB, c clock.Clock, w models.Work) *Run {
	w.JobID = nil
	return &Run{Work: w, db: db, clock: c}
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

// ErrLost says that the work was cancelled, or taken from this worker.
var ErrLost = apperr.New(apperr.Conflict, "work_lost", "The work was cancelled, or another node took it over.")

// update changes the work's row while this run may write.
func (r *Run) update(tx *gorm.DB, columns map[string]any) error {
	if r.JobID == nil {
		return nil
	}
	q := tx.Model(&models.Work{}).Where("id = ? AND job_id = ? AND state = ?", r.ID, *r.JobID, models.WorkRunning).Updates(columns)
	if q.Error == nil && q.RowsAffected == 0 {
		return ErrLost
	}
	return q.Error
}

// Step writes a part of the work that stays when the rest fails: what was done by an
// earlier try is not done again. It may take minutes: the work's row stays free, for the
// heart that says how far the work is, and for whoever stops it.
func (r *Run) Step(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return r.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := r.hold(tx); err != nil {
			return err
		}
		return fn(tx)
	})
}

// hold has whoever takes the work away wait for the end of the transaction, and fails
// where somebody did so already.
func (r *Run) hold(tx *gorm.DB) error {
	if r.JobID == nil {
		return nil
	}
	if err := tx.Exec(`SELECT pg_advisory_xact_lock_shared(hashtext('work'), ?)`, lockOf(r.ID)).Error; err != nil {
		return err
	}
	var own int64
	err := tx.Model(&models.Work{}).Where("id = ? AND job_id = ? AND state = ?", r.ID, *r.JobID, models.WorkRunning).Count(&own).Error
	if err == nil && own == 0 {
		return ErrLost
	}
	return err
}

// lockOf is the lock that a step shares, and that is taken alone to take the work from its
// worker. Two pieces of work that have the same by chance wait for each other, no more.
func lockOf(work int64) int32 { return int32(work) } //nolint:gosec // the lower half is enough

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
		p := r.progress()
		q, err := tx.Exec(ctx, `UPDATE work SET state = 'done', failure = '', phase = $3, done = $4, total = $5, ended_at = $6 WHERE id = $1 AND job_id = $2 AND state = 'running'`,
			r.ID, *r.JobID, p["phase"], p["done"], p["total"], r.clock.Now())
		if err != nil {
			return postgres.Translate(err)
		}
		if q.RowsAffected() == 0 {
			return ErrLost
		}
	}
	if err := last(); err != nil {
		return err
	}
	return postgres.Translate(tx.Commit(ctx))
}

// beatEvery is how often a worker reports its progress. It is far below silentFor, so
// that a few lost reports do not cost a worker its work.
const beatEvery = time.Second

// beat writes down how far the work is until ctx ends.
func (r *Run) beat(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
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
