package jobs

import (
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/models"
)

// The fence prevents a worker that has lost its job from writing on behalf of the job.
//
// In each transaction, an Attempt checks that the job still belongs to it. There are two ways to do
// this:
//
//   - Commit and other short transactions update the job's row with the condition isOurs.
//   - Step takes the job's advisory lock in shared mode and then reads the row. It does not lock
//     the row, because a step can take minutes. During this time, beat must be able to save the
//     progress, and users must be able to cancel the job.
//
// To take a job away from its worker, a transaction must change river_job_id, attempt or state in the row, and
// take the job's advisory lock in exclusive mode:
//
//   - Cancel changes the row and cancels the River job, which ends the current step. Then it waits
//     for the advisory lock.
//   - rescue and RunNow lock the row. If the worker holds the advisory lock, they do nothing, because
//     the worker is in a step and therefore still alive.

// isOurs is the SQL condition that an Attempt still owns its job. If the condition is false, the Attempt must not
// write.
const isOurs = `id = @id AND river_job_id IS NOT DISTINCT FROM @job AND attempt = @attempt AND state = 'running'`

func (r *Attempt) owner() map[string]any {
	return map[string]any{"id": r.ID, "job": r.RiverJobID, "attempt": r.Attempt}
}

// ErrSuperseded means that the job was cancelled or given to another worker.
var ErrSuperseded = apperr.New(apperr.Conflict, "job_lost", "The job was cancelled, or another node has taken it over.")

// update changes columns of the job's row. If the job no longer belongs to this run, update returns
// ErrSuperseded.
func (r *Attempt) update(tx *gorm.DB, columns map[string]any) error {
	if r.withoutRow() {
		return nil
	}
	q := tx.Model(&models.Job{}).Where(isOurs, r.owner()).Updates(columns)
	if q.Error == nil && q.RowsAffected == 0 {
		return ErrSuperseded
	}
	return q.Error
}

// hold prevents other workers from taking over the job until the transaction ends. If the job no longer
// belongs to this run, hold returns ErrSuperseded.
func (r *Attempt) hold(tx *gorm.DB) error {
	if r.withoutRow() {
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

func lockShared(tx *gorm.DB, jobID int64) error {
	return tx.Exec(`SELECT pg_advisory_xact_lock_shared(hashtext('jobs'), ?)`, lockKey(jobID)).Error
}

// lockExclusive takes the job's advisory lock in exclusive mode until the transaction ends. It waits for
// the job's current step and prevents further steps.
func lockExclusive(tx *gorm.DB, jobID int64) error {
	return tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('jobs'), ?)`, lockKey(jobID)).Error
}

// tryLockExclusive is like lockExclusive, but does not wait. locked is false if a worker is running
// a step of the job.
func tryLockExclusive(tx *gorm.DB, jobID int64) (locked bool, err error) {
	err = tx.Raw(`SELECT pg_try_advisory_xact_lock(hashtext('jobs'), ?)`, lockKey(jobID)).Scan(&locked).Error
	return locked, err
}

// lockKey returns the job's key for advisory locks. Different jobs can have the same key. Such jobs
// wait for each other, which is harmless.
func lockKey(jobID int64) int32 { return int32(jobID) } //nolint:gosec // the low 32 bits are enough
