package reconcile

import (
	"context"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/fault"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

var errNotCompared = fault.New(fault.Conflict, "not_compared", "Only a comparison can be kept: compare the list first.")

// Keep makes the dry run the result, which never changes. The file goes.
func (s *Service) Keep(ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, version int) error {
	return s.change(ctx, sc, reconciliation, version, "reconciliation.keep", nil, func(tx *gorm.DB, r models.Reconciliation) (map[string]any, error) {
		if r.State != models.ReconciliationCompared {
			return nil, errNotCompared
		}
		return map[string]any{"state": models.ReconciliationKept, "keeper": s.by.Name, "kept_at": s.clock.Now()}, deleteFile(tx, r)
	})
}

// Discard gives up what was not kept.
func (s *Service) Discard(ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, version int) error {
	return s.change(ctx, sc, reconciliation, version, "reconciliation.discard", nil, func(tx *gorm.DB, r models.Reconciliation) (map[string]any, error) {
		if err := dropLines(tx, r.ID); err != nil {
			return nil, err
		}
		return map[string]any{"state": models.ReconciliationDiscarded}, deleteFile(tx, r)
	})
}

// deleteFile lets go of the list, which its reconciliation does not name any more then.
func deleteFile(tx *gorm.DB, r models.Reconciliation) error {
	if r.FileID == nil {
		return nil
	}
	return tx.Where("id = ?", *r.FileID).Delete(&models.File{}).Error
}
