package jobs

import (
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/models"
)

// The fence keeps a worker that lost its work from writing for it.
//
// Each transaction of a Run begins with one of two checks that the work is still its own:
//
//   - Commit and the short updates of the row change it WHERE isOurs.
//   - Step takes the work's lock in shared mode and then reads the row. It leaves the row
//     free, because a step may take minutes in which beat reports progress and a user
//     cancels the work.
//
// Taking work from its worker needs a change of job_id or state in the row, and the lock
// in exclusive mode:
//
//   - Cancel first changes the row and cancels the job, which ends a step, and then waits
//     for the lock.
//   - rescue locks the row, and leaves the work alone if the lock is taken: a worker in
//     a step is alive.

// isOurs selects the row of a Run's work while the Run may write. owner has its arguments.
const isOurs = `id = @id AND job_id = @job AND state = 'running'`

func (r *Run) owner() map[string]any { return map[string]any{"id": r.ID, "job": *r.JobID} }

// ErrSuperseded means that the work was cancelled or given to another worker.
var ErrSuperseded = apperr.New(apperr.Conflict, "work_lost", "The work was cancelled, or another node took it over.")

// update changes the work's row while this run may write.
func (r *Run) update(tx *gorm.DB, columns map[string]any) error {
	if r.JobID == nil {
		return nil
	}
	q := tx.Model(&models.Job{}).Where(isOurs, r.owner()).Updates(columns)
	if q.Error == nil && q.RowsAffected == 0 {
		return ErrSuperseded
	}
	return q.Error
}

// hold keeps the work with this run until the transaction ends. It fails if the run has
// lost the work already.
func (r *Run) hold(tx *gorm.DB) error {
	if r.JobID == nil {
		return nil
	}
	if err := lockShared(tx, r.ID); err != nil {
		return err
	}
	var own int64
	err := tx.Model(&models.Job{}).Where(isOurs, r.owner()).Count(&own).Error
	if err == nil && own == 0 {
		return ErrSuperseded
	}
	return err
}

// lockShared takes the work's lock in shared mode until the transaction ends.
func lockShared(tx *gorm.DB, work int64) error {
	return tx.Exec(`SELECT pg_advisory_xact_lock_shared(hashtext('work'), ?)`, lockKey(work)).Error
}

// lockExclusive waits for the steps of the work, and keeps new ones waiting until the
// transaction ends.
func lockExclusive(tx *gorm.DB, work int64) error {
	return tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('work'), ?)`, lockKey(work)).Error
}

// tryLockExclusive is lockExclusive without the wait. locked is false while a worker is in
// a step of the work.
func tryLockExclusive(tx *gorm.DB, work int64) (locked bool, err error) {
	err = tx.Raw(`SELECT pg_try_advisory_xact_lock(hashtext('work'), ?)`, lockKey(work)).Scan(&locked).Error
	return locked, err
}

// lockKey is the work's key among advisory locks. Two pieces of work with the same key
// only wait for each other.
func lockKey(work int64) int32 { return int32(work) } //nolint:gosec // the lower half is enough
