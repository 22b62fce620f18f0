package payouts

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

// CheckApprove returns nil if the given actor can approve the run r. Otherwise it returns an error that states why not.
// It does not check permissions.
func CheckApprove(r models.PayoutRun, by audit.Actor) error {
	switch {
	case r.State != models.RunPrepared:
		return ErrStaleRun
	case !by.MayApprove(&r.PreparerID):
		return errSameUser
	case r.Payouts == 0:
		return errEmptyRun
	}
	return nil
}

// ApproveRun approves a run and records its payees. The user who prepared the run cannot
// approve it. The audit event contains the number of exceptions of each kind.
func (s *Service) ApproveRun(ctx context.Context, sc scope.Scope, run uuid.UUID, version int) error {
	return s.change(ctx, sc, run, version, func(tx *gorm.DB, r models.PayoutRun, now time.Time) (t transition, err error) {
		if err := CheckApprove(r, s.by); err != nil {
			return t, err
		}
		exceptions, err := exceptionsOf(tx, r)
		if err != nil {
			return t, err
		}
		return transition{
			action: "payout_run.approve", to: models.RunApproved,
			columns: map[string]any{"approver": s.by.Name, "approver_id": s.by.Staff, "approved_at": now},
			after:   countExceptions(exceptions),
		}, freezePayees(tx, r.ID)
	})
}
