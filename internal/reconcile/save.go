package reconcile

import (
	"context"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/models"
)

var errNotCompared = apperr.New(apperr.Conflict, "not_compared", "There is no result to save. Compare the file first.")

// Save makes the result of the latest comparison final and deletes the file.
func (s *Service) Save(ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, version int) error {
	return s.update(ctx, sc, reconciliation, version, "reconciliation.save", nil, func(tx *gorm.DB, r models.Reconciliation) (map[string]any, error) {
		if r.State != models.ReconciliationCompared {
			return nil, errNotCompared
		}
		return map[string]any{
			"state":    models.ReconciliationSaved,
			"saved_by": s.by.Name,
			"saved_at": s.clock.Now(),
		}, deleteFile(tx, r)
	})
}

// Discard deletes the result, the column names and the file of a reconciliation that has not been saved.
// It deletes only the first batch of lines. DeleteLines and DeleteExpired delete the others.
func (s *Service) Discard(ctx context.Context, sc scope.Scope, reconciliation uuid.UUID, version int) error {
	err := s.update(ctx, sc, reconciliation, version, "reconciliation.discard", nil, func(tx *gorm.DB, r models.Reconciliation) (map[string]any, error) {
		return map[string]any{
			"state":       models.ReconciliationDiscarded,
			"profile":     gorm.Expr("profile - 'columns'"), // names can contain personal data if the file has no header
			"mapping":     nil,
			"period_from": nil,
			"period_to":   nil,
			"result":      nil,
			"as_of":       nil,
			"compared_at": nil,
		}, deleteFile(tx, r)
	})
	if err == nil {
		s.db.Transaction(ctx, func(tx *gorm.DB) error { return deleteSomeLines(tx, reconciliation) }) //nolint:errcheck // DeleteExpired deletes what is left
	}
	return err
}

// deleteFile deletes the file of a reconciliation. The foreign key in the database then sets the
// reconciliation's file ID to null.
func deleteFile(tx *gorm.DB, r models.Reconciliation) error {
	if r.FileID == nil {
		return nil
	}
	return tx.Where("id = ?", *r.FileID).Delete(&models.File{}).Error
}
