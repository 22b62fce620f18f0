package payouts

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/ledger"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

// NewRun is what a run is begun with.
type NewRun struct {
	Currency money.Currency
	Cutoff   time.Time // entries before this moment
	Minimum  int64     // minor units; smaller balances are held
	Note     string
}

var (
	errNoRun  = apperr.New(apperr.NotFound, "run", "Not Found")
	errNoUser = apperr.New(apperr.Forbidden, "person", "A payout run needs people: the command line is none.")
)

// MaxMinimum bounds the least that is paid out, in minor units.
const MaxMinimum = 100_000_000

// PrepareRun begins a run; claiming the entries is work for the queue. A run is the whole
// platform's: a scope that is restricted has none.
func (s *Service) PrepareRun(ctx context.Context, sc scope.Scope, n NewRun) (r models.PayoutRun, err error) {
	now := s.clock.Now()
	note, err := optionalText("note", n.Note)
	switch {
	case !sc.All():
		return r, errNoRun
	case s.by.Staff == uuid.Nil:
		return r, errNoUser
	case !n.Currency.Valid():
		return r, field("currency", apperr.Required, "Choose the currency.")
	case n.Cutoff.IsZero() || n.Cutoff.After(now):
		return r, field("cutoff", apperr.InvalidValue, "The cutoff is a moment that has passed.")
	case n.Minimum < 0 || n.Minimum > MaxMinimum:
		return r, field("minimum", apperr.InvalidValue, "The minimum payout is between 0 and 1,000,000.")
	case err != nil:
		return r, err
	}
	r = models.PayoutRun{
		ID: id.New(now), Currency: n.Currency.String(), Cutoff: n.Cutoff.UTC(), MinimumMinor: n.Minimum, Note: note,
		State: models.RunPreparing, Preparer: s.by.Name, PreparerID: s.by.Staff, MadeAt: now, RowVersion: 1,
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Create(&r).Error; err != nil {
			return err
		}
		if _, err := s.queue.Enqueue(tx, s.by, models.WorkPayoutRun, r.ID, uuid.Nil); err != nil {
			return err
		}
		return s.note(tx, "payout_run.prepare", "payout_run", RunID(r.ID), uuid.Nil, map[string]any{
			"currency": r.Currency,
			"cutoff":   r.Cutoff,
			"minimum":  r.MinimumMinor,
		}, note)
	})
	if f := apperr.As(err); f != nil && f.Reason == "open_run" {
		err = s.blocked(ctx, r.Currency, f)
	}
	return r, err
}

// blocked names the run in a currency that has to end before another one begins.
func (s *Service) blocked(ctx context.Context, currency string, refused *apperr.Error) error {
	var open models.PayoutRun
	q := s.db.Gorm.WithContext(ctx).Where("currency = ? AND state IN ('preparing', 'prepared', 'approved')", currency).Limit(1).Find(&open)
	if q.Error != nil || q.RowsAffected == 0 { // it has ended since
		return refused
	}
	named := *refused
	named.Object = RunID(open.ID)
	named.Message = fmt.Sprintf("Payout run %s in %s is still open. Pay or cancel it before you start another one.",
		named.Object, currency)
	return &named
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
	if err := longStatements(tx); err != nil {
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
	if err := longStatements(tx); err != nil {
		return err
	}
	return tx.Exec(`SELECT release_payout_run(?)`, run).Error
}

// undoRun gives up a run whose preparation was cancelled or failed.
func (s *Service) undoRun(tx *gorm.DB, w models.Work) error {
	if err := release(tx, w.ObjectID); err != nil {
		return err
	}
	return tx.Model(&models.PayoutRun{}).Where("id = ? AND state = 'preparing'", w.ObjectID).
		Updates(map[string]any{
			"state":       models.RunCancelled,
			"ended_why":   "Its preparation did not come to an end.",
			"row_version": gorm.Expr("row_version + 1"),
		}).Error
}

// Run is one; of the whole platform, so that a restricted scope has none.
func (s *Service) Run(ctx context.Context, sc scope.Scope, run uuid.UUID) (r models.PayoutRun, err error) {
	q := s.db.Gorm.WithContext(ctx).Where("id = ?", run).Limit(1).Find(&r)
	if q.Error == nil && (q.RowsAffected == 0 || !sc.All()) {
		return models.PayoutRun{}, errNoRun
	}
	return r, postgres.Translate(q.Error)
}

// Runs is a page of runs, the newest first: after one, or before one.
func (s *Service) Runs(
	ctx context.Context, sc scope.Scope, before, after uuid.UUID, size int,
) (all []models.PayoutRun, newer, older bool, err error) {
	if !sc.All() {
		return nil, false, false, nil
	}
	q := postgres.AroundID(s.db.Gorm.WithContext(ctx), "id", before, after, size)
	if err := q.Find(&all).Error; err != nil {
		return nil, false, false, postgres.Translate(err)
	}
	all, newer, older = postgres.CutAt(all, size, after != uuid.Nil, before != uuid.Nil)
	return all, newer, older, nil
}
