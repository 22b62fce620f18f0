package jobs

import (
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/models"
)

// The fence prevents a worker that has lost its job from writing for it.
//
// Each transaction of a Run starts with one of two checks that the job is still its own:
//
//   - Commit and the short updates of the row change it WHERE isOurs.
//   - Step takes the job's lock in shared mode and then reads the row. It does not lock the row,
//     because a step may take minutes, in which beat reports progress and a user may cancel
//     the job.
//
// Taking a job from its worker needs a change of job_id or state in the row, and the lock
// in exclusive mode:
//
//   - Cancel first changes the row and cancels the River job, which ends a step, and then waits
//     for the lock.
//   - rescue locks the row, and does nothing if the lock is taken, because a worker in a step
//     is alive.

// isOurs selects the row of a Run's job while the Run may write. owner has its arguments.
const isOurs = `id = @id AND job_id = @job AND state = 'running'`

func (r *Run) owner() map[string]any { return map[string]any{"id": r.ID, "job": *r.JobID} }

// ErrSuperseded means that the job was cancelled or given to another worker.
var ErrSuperseded = apperr.New(apperr.Conflict, "work_lost", "The job was cancelled, or another node has taken it over.")

// update changes the job's row while this run may write.
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

// hold prevents other workers from taking the job until the transaction ends. It returns
// ErrSuperseded if the run has already lost the job.
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

// lockShared takes the job's lock in shared mode until the transaction ends.
func lockShared(tx *gorm.DB, work int64) error {
	return tx.Exec(`SELECT pg_advisory_xact_lock_shared(hashtext('work'), ?)`, lockKey(work)).Error
}

// lockExclusive takes the job's lock in exclusive mode until the transaction ends. It waits for
// running steps and blocks new ones.
func lockExclusive(tx *gorm.DB, work int64) error {
	return tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('work'), ?)`, lockKey(work)).Error
}

// tryLockExclusive is lockExclusive without waiting. locked is false if a worker is in a step of
// the job.
func tryLockExclusive(tx *gorm.DB, work int64) (locked bool, err error) {
	err = tx.Raw(`SELECT pg_try_advisory_xact_lock(hashtext('work'), ?)`, lockKey(work)).Scan(&locked).Error
	return locked, err
}

// lockKey returns the job's key for advisory locks. Jobs with the same key wait for each other,
// which does no harm.
func lockKey(work int64) int32 { return int32(work) } //nolint:gosec // the low 32 bits are enough
