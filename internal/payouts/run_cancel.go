package payouts

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/models"
)

// CheckCancel returns nil if the run r can be cancelled. Otherwise it returns an error that states why
// not. To cancel a run that is being prepared, cancel its job.
func CheckCancel(r models.PayoutRun) error {
	switch r.State {
	case models.RunPrepared, models.RunApproved:
		return nil
	case models.RunPreparing:
		return errPreparing
	default:
		return ErrStaleRun
	}
}

// CancelRun cancels a run that has not been paid and releases its entries for the next run.
func (s *Service) CancelRun(ctx context.Context, sc scope.Scope, run uuid.UUID, version int, why string) error {
	why, err := requiredText("why", why, "Enter a reason. The user who prepared the run will see it.")
	if err != nil {
		return err
	}
	return s.change(ctx, sc, run, version, func(tx *gorm.DB, r models.PayoutRun, _ time.Time) (t transition, err error) {
		if err := CheckCancel(r); err != nil {
			return t, err
		}
		return transition{
			action: "payout_run.cancel", to: models.RunCancelled, why: why, columns: map[string]any{"cancel_reason": why},
		}, release(tx, r.ID)
	})
}
