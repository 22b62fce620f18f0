package payouts

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/ledger"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

const maxReference = 140

// CheckPay returns nil if the run r can be marked as paid. Otherwise it returns an error that states why
// not.
func CheckPay(r models.PayoutRun) error {
	if r.State != models.RunApproved {
		return ErrStaleRun
	}
	return nil
}

// PayRun marks a run as paid and adds each account's payment to the ledger. The parameter reference is
// the bank reference. A paid run can no longer be changed.
func (s *Service) PayRun(ctx context.Context, sc scope.Scope, run uuid.UUID, version int, reference string) error {
	reference = strings.TrimSpace(reference)
	if reference == "" || utf8.RuneCountInString(reference) > maxReference || !plaintext.IsValid(reference) ||
		strings.ContainsAny(reference, "\n\t") {
		return apperr.InvalidField("reference", apperr.InvalidValue,
			fmt.Sprintf("Enter the bank reference, with at most %d characters.", maxReference))
	}
	return s.change(ctx, sc, run, version, func(tx *gorm.DB, r models.PayoutRun, now time.Time) (t transition, err error) {
		if err := CheckPay(r); err != nil {
			return t, err
		}
		return transition{
			action: "payout_run.pay", to: models.RunPaid, why: reference,
			columns: map[string]any{"payer": s.by.Name, "paid_at": now, "reference": reference},
		}, s.pay(tx, r, reference, now)
	})
}

// pay adds a payment to the ledger for each statement that the run pays. It adds the payments to the
// run, so that the run's entries sum to zero for each account.
func (s *Service) pay(tx *gorm.DB, r models.PayoutRun, reference string, now time.Time) error {
	if err := extendStatementTimeout(tx); err != nil {
		return err
	}
	var due []models.Statement
	if err := tx.Where("run_id = ? AND outcome = 'pays'", r.ID).Order("account_id").Find(&due).Error; err != nil {
		return err
	}
	payments := make([]models.LedgerEntry, len(due))
	for i, payee := range due {
		payments[i] = ledger.Payment(r, payee, reference, s.by.Name, now)
	}
	if err := addEntries(tx, payments); err != nil {
		return err
	}
	claims := make([]models.PayoutRunEntry, len(payments))
	for i, p := range payments {
		claims[i] = models.PayoutRunEntry{EntryID: p.ID, OccurredAt: p.OccurredAt, RunID: r.ID}
	}
	if err := tx.CreateInBatches(&claims, 5000).Error; err != nil {
		return err
	}
	// Check that the payments match the approved amounts exactly.
	var first *time.Time
	if err := tx.Raw(`SELECT `+firstEntry+` FROM statements WHERE run_id = ?`, r.ID).Scan(&first).Error; err != nil {
		return err
	}
	if first == nil {
		first = &time.Time{}
	}
	if err := tx.Exec(postgres.SetPlanEachTime).Error; err != nil {
		return err
	}
	var left int64
	err := tx.Raw(`SELECT count(*) FROM (SELECT FROM payout_run_entries c JOIN ledger_entries e ON e.id = c.entry_id AND e.occurred_at = c.occurred_at
		WHERE c.run_id = @run AND c.occurred_at >= @first AND e.occurred_at >= @first GROUP BY e.account_id
		HAVING sum(e.amount_minor) <> 0) AS uneven`,
		map[string]any{"run": r.ID, "first": first}).Scan(&left).Error
	if err == nil && left > 0 {
		err = fmt.Errorf("paying run %s: entries do not sum to zero (accounts: %d)", RunID(r.ID), left)
	}
	return err
}

// CheckPayments returns nil if the run r has a payments file. Otherwise it returns an error that states
// why it has none.
func CheckPayments(r models.PayoutRun) error {
	if r.State != models.RunApproved && r.State != models.RunPaid {
		return errNotApproved
	}
	return nil
}
