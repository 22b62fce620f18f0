package payouts

import (
	"context"
	"maps"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

var (
	// ErrStaleRun means that the run has changed since the caller read it.
	ErrStaleRun = apperr.New(apperr.Conflict, "stale", "This payout run has changed since you opened it. Reload the page.")

	errNoRun  = apperr.New(apperr.NotFound, "run", "Not Found")
	errNoUser = apperr.New(apperr.Forbidden, "person", "Payout runs need a signed-in user. Start the run in the console.")

	errSameUser = apperr.New(apperr.Forbidden, "same_person",
		"You prepared this payout run. Another user must approve it.")
	errEmptyRun  = apperr.New(apperr.Conflict, "empty_run", "This payout run has no payments. Cancel it.")
	errPreparing = apperr.New(apperr.Conflict, "preparing",
		"This payout run is still being prepared. Cancel its job first.")
	errNotApproved = apperr.New(apperr.Conflict, "not_approved",
		"This payout run is not approved yet, so it has no payments.")
)

type transition struct {
	action  string // action of the audit event
	to      models.RunState
	why     string         // reason in the audit event
	columns map[string]any // columns to write in addition to state and row_version
	after   map[string]any // values of the audit event in addition to the state
}

// change locks a run and calls the function do. It then writes the transition that do returns, with its
// audit event. If do returns an error, the run does not change. change returns ErrStaleRun if the run no
// longer has the given version.
func (s *Service) change(
	ctx context.Context, sc scope.Scope, run uuid.UUID, version int,
	do func(tx *gorm.DB, r models.PayoutRun, now time.Time) (transition, error),
) error {
	if !sc.All() {
		return errNoRun
	}
	if s.by.Staff == uuid.Nil {
		return errNoUser
	}
	now := s.clock.Now()
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var r models.PayoutRun
		q := tx.Clauses(clause.Locking{Strength: "UPDATE"}).Where("id = ?", run).Limit(1).Find(&r)
		if q.Error != nil {
			return q.Error
		}
		if q.RowsAffected == 0 {
			return errNoRun
		}
		if r.RowVersion != version {
			return ErrStaleRun
		}
		t, err := do(tx, r, now)
		if err != nil {
			return err
		}
		t.columns["state"], t.columns["row_version"] = t.to, r.RowVersion+1
		after := map[string]any{"state": t.to}
		maps.Copy(after, t.after)
		if err := tx.Model(&models.PayoutRun{}).Where("id = ?", r.ID).Updates(t.columns).Error; err != nil {
			return err
		}
		return audit.Write(tx, now, s.by, audit.Event{
			Action: t.action, Kind: "payout_run", Object: RunID(r.ID),
			Before: map[string]any{"state": r.State}, After: after, Reason: t.why,
		})
	})
}

// release removes the run's claims, so that the next run can claim the entries.
func release(tx *gorm.DB, run uuid.UUID) error {
	if err := extendStatementTimeout(tx); err != nil {
		return err
	}
	return tx.Exec(`SELECT release_payout_run(?)`, run).Error
}
