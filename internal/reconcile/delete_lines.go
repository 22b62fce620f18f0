package reconcile

import (
	"context"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/postgres"
)

// deleteBatchSize is the number of lines deleted in one transaction. A request can wait for one batch.
const deleteBatchSize = 20_000

// deleteSomeLines deletes a batch of lines of a reconciliation that is neither compared nor saved.
func deleteSomeLines(tx *gorm.DB, reconciliation uuid.UUID) error {
	return tx.Exec(`SELECT drop_reconciliation_lines(?, ?)`, reconciliation, deleteBatchSize).Error
}

// hasLines reports whether a reconciliation has lines.
func (s *Service) hasLines(ctx context.Context, reconciliation uuid.UUID) (has bool, err error) {
	err = s.db.Pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM reconciliation_lines WHERE reconciliation_id = $1)`,
		reconciliation).Scan(&has)
	return has, postgres.Translate(err)
}

// DeleteLines deletes the lines of a reconciliation that was discarded or is compared again.
// There may be millions, so it deletes them in batches.
func (s *Service) DeleteLines(ctx context.Context, reconciliation uuid.UUID) error {
	return s.deleteLines(ctx, reconciliation, func(drop func(*gorm.DB) error) error { return s.db.Transaction(ctx, drop) })
}

// deleteLines deletes lines in batches, each in a transaction that step runs.
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

// DeleteExpired deletes the leftover lines of uploaded and discarded reconciliations. It
// returns the number of reconciliations.
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
