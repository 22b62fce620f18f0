package reconcile

import (
	"context"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/postgres"
)

// deleteBatchSize is how many lines go in a transaction: few enough for a page to wait for.
const deleteBatchSize = 20_000

// deleteSomeLines lets go of lines of what is neither compared nor kept.
func deleteSomeLines(tx *gorm.DB, reconciliation uuid.UUID) error {
	return tx.Exec(`SELECT drop_reconciliation_lines(?, ?)`, reconciliation, deleteBatchSize).Error
}

// hasLines reports whether there are lines left.
func (s *Service) hasLines(ctx context.Context, reconciliation uuid.UUID) (has bool, err error) {
	err = s.db.Pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM reconciliation_lines WHERE reconciliation_id = $1)`,
		reconciliation).Scan(&has)
	return has, postgres.Translate(err)
}

// DeleteLines lets go of the lines that a comparison left which was discarded or given up;
// there may be millions.
func (s *Service) DeleteLines(ctx context.Context, reconciliation uuid.UUID) error {
	return s.deleteLines(ctx, reconciliation, func(drop func(*gorm.DB) error) error { return s.db.Transaction(ctx, drop) })
}

// deleteLines drops them in steps.
func (s *Service) deleteLines(ctx context.Context, reconciliation uuid.UUID, step func(drop func(*gorm.DB) error) error) error {
	for {
		has, err := s.hasLines(ctx, reconciliation)
		if err != nil || !has {
			return err
		}
		if err := step(func(tx *gorm.DB) error { return deleteSomeLines(tx, reconciliation) }); err != nil {
			return err
		}
	}
}

// DeleteExpired lets go of all such lines, and returns of how many reconciliations.
func (s *Service) DeleteExpired(ctx context.Context) (n int64, err error) {
	var left []uuid.UUID
	err = s.db.Gorm.WithContext(ctx).Raw(`SELECT id FROM reconciliations r WHERE state IN ('uploaded', 'discarded')
		AND EXISTS (SELECT FROM reconciliation_lines l WHERE l.reconciliation_id = r.id)`).Scan(&left).Error
	for _, reconciliation := range left {
		if err = s.DeleteLines(ctx, reconciliation); err != nil {
			break
		}
		n++
	}
	return n, postgres.Translate(err)
}
