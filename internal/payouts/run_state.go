package payouts

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/ledger"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

var (
	// ErrStaleRun means that the run has changed since the caller read it.
	ErrStaleRun = apperr.New(apperr.Conflict, "stale", "Somebody changed this run meanwhile: load the page again.")

	errNoRun  = apperr.New(apperr.NotFound, "run", "Not Found")
	errNoUser = apperr.New(apperr.Forbidden, "person", "A payout run needs people: the command line is none.")

	errSameUser    = apperr.New(apperr.Forbidden, "same_person", "You prepared this run: somebody else approves it.")
	errEmptyRun    = apperr.New(apperr.Conflict, "empty_run", "Nobody is paid in this run: cancel it.")
	errPreparing   = apperr.New(apperr.Conflict, "preparing", "This run is still being prepared: stop that work first.")
	errNotApproved = apperr.New(apperr.Conflict, "not_approved", "This run is not approved: there is nothing to pay yet.")
)

// transition is a user's change of a run's state.
type transition struct {
	action  string // of the audit event
	to      models.RunState
	why     string         // of the audit event
	columns map[string]any // written besides state and row_version
}

// change locks a run, has do check and prepare its transition, and writes that with its
// audit event, in one transaction. It returns ErrRunStale where the run's version is
// another one.
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
		if err := tx.Model(&models.PayoutRun{}).Where("id = ?", r.ID).Updates(t.columns).Error; err != nil {
			return err
		}
		return audit.Write(tx, now, s.by, audit.Event{
			Action: t.action, Kind: "payout_run", Object: RunID(r.ID),
			Before: map[string]any{"state": r.State}, After: map[string]any{"state": t.to}, Reason: t.why,
		})
	})
}

// CheckApprove returns the reason why the user cannot approve r, or nil. The permission
// is the caller's to check.
func CheckApprove(r models.PayoutRun, user uuid.UUID) error {
	switch {
	case r.State != models.RunPrepared:
		return ErrStaleRun
	case r.PreparerID == user:
		return errSameUser
	case r.Payouts == 0:
		return errEmptyRun
	}
	return nil
}

// ApproveRun approves a run and records its payees. The user who prepared the run cannot
// approve it.
func (s *Service) ApproveRun(ctx context.Context, sc scope.Scope, run uuid.UUID, version int) error {
	return s.change(ctx, sc, run, version, func(tx *gorm.DB, r models.PayoutRun, now time.Time) (t transition, err error) {
		if err := CheckApprove(r, s.by.Staff); err != nil {
			return t, err
		}
		return transition{
			action: "payout_run.approve", to: models.RunApproved,
			columns: map[string]any{"approver": s.by.Name, "approver_id": s.by.Staff, "approved_at": now},
		}, freezePayees(tx, r.ID)
	})
}

// CheckPay returns the reason why r cannot be marked as paid, or nil.
func CheckPay(r models.PayoutRun) error {
	if r.State != models.RunApproved {
		return ErrStaleRun
	}
	return nil
}

// maxReference bounds what a bank calls a payment.
const maxReference = 140

// PayRun writes down that the bank has paid: each account's payment into the ledger, and
// the run stays as it is from then on. reference is the bank's.
func (s *Service) PayRun(ctx context.Context, sc scope.Scope, run uuid.UUID, version int, reference string) error {
	reference = strings.TrimSpace(reference)
	if reference == "" || utf8.RuneCountInString(reference) > maxReference || !isPlainText(reference) ||
		strings.ContainsAny(reference, "\n\t") {
		return field("reference", apperr.InvalidValue,
			fmt.Sprintf("Give the reference by which the bank knows the payment: 1 to %d characters.", maxReference))
	}
	return s.change(ctx, sc, run, version, func(tx *gorm.DB, r models.PayoutRun, now time.Time) (t transition, err error) {
		if err := CheckPay(r); err != nil {
			return t, err
		}
		// During a rolling update, a node of the previous release approves runs without this.
		if err := freezePayees(tx, r.ID); err != nil {
			return t, err
		}
		return transition{
			action: "payout_run.pay", to: models.RunPaid, why: reference,
			columns: map[string]any{"payer": s.by.Name, "paid_at": now, "reference": reference},
		}, s.pay(tx, r, reference, now)
	})
}

// pay mirrors each statement that pays, and has the run claim the mirrors: what it
// claimed comes to nothing then, account by account.
func (s *Service) pay(tx *gorm.DB, r models.PayoutRun, reference string, now time.Time) error {
	if err := extendStatementTimeout(tx); err != nil {
		return err
	}
	var due []models.Statement
	if err := tx.Where("run_id = ? AND outcome = 'pays'", r.ID).Order("account_id").Find(&due).Error; err != nil {
		return err
	}
	payments := make([]models.LedgerEntry, len(due))
	for i, one := range due {
		payments[i] = ledger.Payment(r, one, reference, s.by.Name, now)
	}
	if err := tx.CreateInBatches(&payments, 1000).Error; err != nil {
		return err
	}
	claims := make([]models.PayoutRunEntry, len(payments))
	for i, p := range payments {
		claims[i] = models.PayoutRunEntry{EntryID: p.ID, RunID: r.ID}
	}
	if err := tx.CreateInBatches(&claims, 5000).Error; err != nil {
		return err
	}
	// What is paid is what was approved, to the cent, whatever else went wrong.
	var left int64
	err := tx.Raw(`SELECT count(*) FROM (SELECT FROM payout_run_entries c JOIN ledger_entries e ON e.id = c.entry_id WHERE c.run_id = ?
		GROUP BY e.account_id HAVING sum(e.amount_minor) <> 0) AS uneven`, r.ID).Scan(&left).Error
	if err == nil && left > 0 {
		err = fmt.Errorf("%d accounts of run %s do not come to nothing with their payment", left, RunID(r.ID))
	}
	return err
}

// CheckPayments returns the reason why r has no list of payments, or nil.
func CheckPayments(r models.PayoutRun) error {
	if r.State != models.RunApproved && r.State != models.RunPaid {
		return errNotApproved
	}
	return nil
}

// CheckCancel returns the reason why r cannot be cancelled, or nil. A run that is being
// prepared ends by cancelling its job.
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

// CancelRun lets go of a run that was not paid: its entries are for the next one.
func (s *Service) CancelRun(ctx context.Context, sc scope.Scope, run uuid.UUID, version int, why string) error {
	why, err := requiredText("why", why, "Say why: whoever prepared the run asks.")
	if err != nil {
		return err
	}
	return s.change(ctx, sc, run, version, func(tx *gorm.DB, r models.PayoutRun, _ time.Time) (t transition, err error) {
		if err := CheckCancel(r); err != nil {
			return t, err
		}
		return transition{
			action: "payout_run.cancel", to: models.RunCancelled, why: why, columns: map[string]any{"ended_why": why},
		}, release(tx, r.ID)
	})
}

func release(tx *gorm.DB, run uuid.UUID) error {
	if err := extendStatementTimeout(tx); err != nil {
		return err
	}
	return tx.Exec(`SELECT release_payout_run(?)`, run).Error
}
