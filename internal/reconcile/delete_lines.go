package reconcile

import (
	"context"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// deleteBatchSize is the number of lines that one transaction deletes. The number is small, because a
// user waits while Discard deletes one batch.
const deleteBatchSize = 20_000

// deleteSomeLines deletes one batch of a reconciliation's lines. If the reconciliation is in the state
// "compared" or "saved", the database returns an error.
func deleteSomeLines(tx *gorm.DB, reconciliation uuid.UUID) error {
	return tx.Exec(`SELECT drop_reconciliation_lines(?, ?)`, reconciliation, deleteBatchSize).Error
}

func (s *Service) hasLines(ctx context.Context, reconciliation uuid.UUID) (has bool, err error) {
	err = s.db.Pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM reconciliation_lines WHERE reconciliation_id = $1)`,
		reconciliation).Scan(&has)
	return has, postgres.Translate(err)
}

// DeleteLines deletes the lines of a reconciliation that was discarded or is being compared again.
// It deletes them in batches, because there can be millions of lines.
func (s *Service) DeleteLines(ctx context.Context, reconciliation uuid.UUID) error {
	return s.deleteLines(ctx, reconciliation, func(drop func(*gorm.DB) error) error { return s.db.Transaction(ctx, drop) })
}

// deleteLines deletes the lines of a reconciliation in batches. For each batch, it calls the function
// step. This function must call its argument, drop, in a database transaction.
func (s *Service) deleteLines(
	ctx context.Context, reconciliation uuid.UUID, step func(drop func(*gorm.DB) error) error,
) error {
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

// DeleteExpired deletes the remaining lines of all reconciliations in the states "uploaded" and
// "discarded". It returns the number of reconciliations that had lines.
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
