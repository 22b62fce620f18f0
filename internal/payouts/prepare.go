package payouts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/models"
)

// NewRun contains the settings of a new run.
type NewRun struct {
	Currency money.Currency
	Cutoff   time.Time // the run covers entries that occurred before this time
	Minimum  int64     // minor units; smaller balances are held
	Note     string
}

// MaxMinimum is the highest value that a minimum payout can have, in minor units.
const MaxMinimum = 100_000_000

// BeginRun starts a run and enqueues the job that prepares it. A run covers all partners, so sc must
// include all partners.
func (s *Service) BeginRun(ctx context.Context, sc scope.Scope, n NewRun) (r models.PayoutRun, err error) {
	now := s.clock.Now()
	note, err := optionalText("note", n.Note)
	switch {
	case !sc.All():
		return r, errNoRun
	case s.by.Staff == uuid.Nil:
		return r, errNoUser
	case !n.Currency.Valid():
		return r, apperr.InvalidField("currency", apperr.Required, "Choose a currency.")
	case n.Cutoff.IsZero() || n.Cutoff.After(now):
		return r, apperr.InvalidField("cutoff", apperr.InvalidValue, "Enter a cutoff in the past.")
	case n.Minimum < 0 || n.Minimum > MaxMinimum:
		return r, apperr.InvalidField("minimum", apperr.InvalidValue, "Enter a minimum payout between 0 and 1,000,000.")
	case err != nil:
		return r, err
	}
	r = models.PayoutRun{
		ID: id.New(now), Currency: n.Currency.String(), Cutoff: n.Cutoff.UTC(), MinimumMinor: n.Minimum, Note: note,
		State: models.RunPreparing, Preparer: s.by.Name, PreparerID: s.by.Staff, CreatedAt: now, RowVersion: 1,
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Create(&r).Error; err != nil {
			return err
		}
		if _, err := s.queue.Enqueue(tx, s.by, models.JobPayoutRun, r.ID, uuid.Nil); err != nil {
			return err
		}
		return s.auditChange(tx, "payout_run.prepare", "payout_run", RunID(r.ID), uuid.Nil, map[string]any{
			"currency": r.Currency,
			"cutoff":   r.Cutoff,
			"minimum":  r.MinimumMinor,
		}, note)
	})
	if errors.Is(err, errOpenRun) {
		err = s.blocked(ctx, r.Currency, apperr.As(err))
	}
	return r, err
}

// blocked returns a copy of an error. The message of the copy names the run that is still open in the
// currency.
func (s *Service) blocked(ctx context.Context, currency string, rejected *apperr.Error) error {
	var open models.PayoutRun
	q := s.db.Gorm.WithContext(ctx).Where("currency = ? AND state IN ('preparing', 'prepared', 'approved')", currency).
		Limit(1).Find(&open)
	if q.Error != nil || q.RowsAffected == 0 { // the run is no longer open
		return rejected
	}
	named := *rejected
	named.Object = RunID(open.ID)
	named.Message = fmt.Sprintf("Payout run %s in %s is still open. Pay or cancel it before you start another one.",
		named.Object, currency)
	return &named
}

// A run is prepared by a job, which claims entries in steps. The first step handles accountsAtFirst
// accounts, and each step handles at most accountBatchSize accounts. After each step, the number of
// accounts is adjusted, so that the next step claims about entryBatchSize entries, which takes a few
// seconds. All entries of an account are claimed in one step, because their sum decides whether they are
// claimed.
const (
	accountBatchSize = 200
	accountsAtFirst  = 8
	entryBatchSize   = 20_000
)

func accountsNext(accounts int, claimed int64) int {
	return max(1, int(min(int64(accounts)*entryBatchSize/max(claimed, 1), 2*int64(accounts))))
}

// claimSQL creates the statements of the given accounts in a run. A statement covers the account's
// unclaimed entries before the cutoff. If the account is paid or its net amount is zero, claimSQL claims
// these entries. If the account is held, it leaves them for the next run. It is a single statement, so
// that the sums exactly match the claimed entries.
const claimSQL = `
WITH open AS MATERIALIZED (
	SELECT e.id, e.occurred_at, e.partner_id, e.account_id, e.kind, e.amount_minor FROM ledger_entries e
	WHERE e.account_id IN @accounts AND e.currency = @currency AND e.occurred_at < @cutoff
		AND NOT EXISTS (SELECT FROM payout_run_entries c WHERE c.entry_id = e.id AND c.occurred_at = e.occurred_at)
), sums AS MATERIALIZED (
	SELECT partner_id, account_id, count(*) AS entries, min(occurred_at) AS first_entry_at, sum(amount_minor) AS net,
		coalesce(sum(amount_minor) FILTER (WHERE kind = 'accrual'), 0) AS accrued,
		coalesce(sum(amount_minor) FILTER (WHERE kind = 'return'), 0) AS returned,
		coalesce(sum(amount_minor) FILTER (WHERE kind IN ('adjustment', 'payment')), 0) AS adjusted
	FROM open GROUP BY partner_id, account_id
), made AS (
	INSERT INTO statements (run_id, account_id, partner_id, outcome, entries, first_entry_at, accrued_minor, returned_minor, adjusted_minor, net_minor)
	SELECT CAST(@run AS uuid), account_id, partner_id,
		CASE WHEN net < 0 THEN 'negative' WHEN net = 0 THEN 'even' WHEN net < @minimum THEN 'below_minimum' ELSE 'pays' END,
		entries, first_entry_at, accrued, returned, adjusted, net
	FROM sums
	RETURNING account_id, outcome
)
INSERT INTO payout_run_entries (entry_id, occurred_at, run_id)
SELECT open.id, open.occurred_at, CAST(@run AS uuid) FROM open JOIN made USING (account_id)
WHERE made.outcome IN ('pays', 'even')`

// prepare runs the job that claims a run's entries, several accounts at a time. If an attempt
// fails, its claims remain, and the next attempt continues with the remaining accounts.
func (s *Service) prepare(ctx context.Context, w *jobs.Attempt) error {
	var r models.PayoutRun
	db := s.db.Gorm.WithContext(ctx)
	if err := db.Where("id = ?", w.ObjectID).Take(&r).Error; err != nil {
		return err
	}
	if r.State != models.RunPreparing {
		return apperr.New(apperr.Conflict, "run_state", "This payout run is no longer being prepared.")
	}
	accounts, err := s.accountsLeft(ctx, r)
	if err != nil {
		return err
	}
	for done, next := 0, accountsAtFirst; done < len(accounts); {
		w.Progress("preparing accounts", int64(done), int64(len(accounts)))
		batch := accounts[done:min(done+min(next, s.atOnce), len(accounts))]
		var claimed int64
		err := w.Step(ctx, func(tx *gorm.DB) (err error) {
			claimed, err = claim(tx, r, batch)
			return err
		})
		if err != nil {
			return err
		}
		done, next = done+len(batch), accountsNext(len(batch), claimed)
	}
	w.Progress("preparing accounts", int64(len(accounts)), int64(len(accounts)))
	return w.Commit(ctx, func(tx *gorm.DB) error { return s.finish(tx, r) })
}

// accountsLeft returns the accounts that do not have a statement in the run yet. It omits sandbox
// accounts, which earn nothing.
func (s *Service) accountsLeft(ctx context.Context, r models.PayoutRun) (all []uuid.UUID, err error) {
	err = s.db.Gorm.WithContext(ctx).Raw(`SELECT id FROM accounts a WHERE NOT sandbox
		AND NOT EXISTS (SELECT FROM statements s WHERE s.run_id = ? AND s.account_id = a.id)
		ORDER BY id`, r.ID).Scan(&all).Error
	return all, err
}

func claim(tx *gorm.DB, r models.PayoutRun, accounts []uuid.UUID) (int64, error) {
	if err := extendStatementTimeout(tx); err != nil {
		return 0, err
	}
	q := tx.Exec(claimSQL, map[string]any{
		"accounts": accounts, "currency": r.Currency, "cutoff": r.Cutoff, "run": r.ID, "minimum": r.MinimumMinor,
	})
	return q.RowsAffected, q.Error
}

const nothingToPay = "Nothing to pay."

// finish writes the run's totals. If the run has no payments, finish cancels it and releases its
// entries, so that it does not block the next run.
func (s *Service) finish(tx *gorm.DB, r models.PayoutRun) error {
	if err := extendStatementTimeout(tx); err != nil {
		return err
	}
	var sum struct {
		Payouts, Held int
		Total         int64
		Entries       int64
	}
	err := tx.Raw(`SELECT count(*) FILTER (WHERE outcome = 'pays') AS payouts, count(*) FILTER (WHERE outcome IN ('below_minimum', 'negative')) AS held,
			coalesce(sum(net_minor) FILTER (WHERE outcome = 'pays'), 0) AS total, coalesce(sum(entries) FILTER (WHERE outcome IN ('pays', 'even')), 0) AS entries
		FROM statements WHERE run_id = ?`, r.ID).Scan(&sum).Error
	if err != nil {
		return err
	}
	state, why := models.RunPrepared, ""
	if sum.Payouts == 0 {
		state, why = models.RunCancelled, nothingToPay
		if err := release(tx, r.ID); err != nil {
			return err
		}
	}
	q := tx.Model(&models.PayoutRun{}).Where("id = ? AND state = 'preparing'", r.ID).Updates(map[string]any{
		"state":         state,
		"cancel_reason": why,
		"payouts":       sum.Payouts,
		"held":          sum.Held,
		"total_minor":   sum.Total,
		"entries":       sum.Entries,
		"prepared_at":   s.clock.Now(),
		"row_version":   r.RowVersion + 1,
	})
	if q.Error != nil {
		return q.Error
	}
	if q.RowsAffected == 0 {
		return jobs.ErrSuperseded
	}
	return audit.Write(tx, s.clock.Now(), audit.Service, audit.Event{
		Action: "payout_run.prepared",
		Kind:   "payout_run",
		Object: RunID(r.ID),
		Before: map[string]any{"state": r.State},
		After: map[string]any{
			"state":   state,
			"payouts": sum.Payouts,
			"held":    sum.Held,
			"total":   money.AmountOf(sum.Total, r.Currency).String(),
			"entries": sum.Entries,
		},
		Reason: why,
	})
}

func (s *Service) undoRun(tx *gorm.DB, w models.Job) error {
	if err := release(tx, w.ObjectID); err != nil {
		return err
	}
	return tx.Model(&models.PayoutRun{}).Where("id = ? AND state = 'preparing'", w.ObjectID).
		Updates(map[string]any{
			"state":         models.RunCancelled,
			"cancel_reason": "Preparation was cancelled or failed.",
			"row_version":   gorm.Expr("row_version + 1"),
		}).Error
}
