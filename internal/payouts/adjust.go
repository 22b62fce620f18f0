package payouts

import (
	"context"
	"errors"

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

// NewAdjustment is an adjustment to add to an account's balance.
type NewAdjustment struct {
	ID      uuid.UUID // the adjustment's id, which can be used only once
	Account uuid.UUID
	Lead    uuid.UUID // uuid.Nil if the adjustment is not for one lead
	Amount  money.Amount
	Reason  string
}

// MaxAdjustment is the largest amount that an adjustment can add or subtract, in minor units.
// Larger amounts are probably typing errors.
const MaxAdjustment = 100_000_000

// ErrAdjusted means that the ledger already contains an adjustment with this ID.
var ErrAdjusted = apperr.New(apperr.Conflict, "adjusted", "This adjustment is already in the ledger.")

// Adjust adds an adjustment to the ledger. It returns ErrAdjusted if the ledger already contains an
// adjustment with this id.
func (s *Service) Adjust(ctx context.Context, sc scope.Scope, a NewAdjustment) (e models.LedgerEntry, err error) {
	if a.Reason, err = requiredText("why", a.Reason, "Enter a reason. The partner will see it on the statement."); err != nil {
		return e, err
	}
	if a.Amount.Minor == 0 || a.Amount.Minor > MaxAdjustment || a.Amount.Minor < -MaxAdjustment {
		return e, field("amount", apperr.InvalidValue, "Enter an amount other than 0, between -1,000,000 and 1,000,000.")
	}
	if !a.Amount.Currency.Valid() {
		return e, field("currency", apperr.Required, "Choose a currency.")
	}
	now := s.clock.Now()
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var account models.Account
		q := tx.Where("id = ?", a.Account).Limit(1).Find(&account)
		if q.Error != nil {
			return q.Error
		}
		if q.RowsAffected == 0 || !sc.Allows(account.PartnerID) {
			return field("account", apperr.InvalidValue, "Choose one of the partner's accounts.")
		}
		if account.Sandbox {
			return field("account", apperr.InvalidValue, "Sandbox accounts have no balance. Choose another account.")
		}
		lead, err := s.adjustedLead(tx, sc, a, account)
		if err != nil {
			return err
		}
		e = ledger.Adjustment(account.PartnerID, account.ID, lead, a.Amount, a.ID, a.Reason, s.by.Name, now)
		added := []models.LedgerEntry{e}
		if err := addEntries(tx, added); err != nil {
			return err
		}
		e = added[0]
		return s.auditChange(tx, "ledger.adjust", "adjustment", e.Reference, e.PartnerID, map[string]any{
			"amount":   e.AmountMinor,
			"currency": e.Currency,
			"account":  account.Identifier,
		}, "")
	})
	if errors.Is(err, errEntryExists) {
		err = ErrAdjusted
	}
	return e, err
}

// adjustedLead returns the id of the lead that the adjustment is for, or nil if there is none. It
// returns an error if the lead does not belong to the account, or if its accrual is in another
// currency.
func (s *Service) adjustedLead(tx *gorm.DB, sc scope.Scope, a NewAdjustment, account models.Account) (*uuid.UUID, error) {
	if a.Lead == uuid.Nil {
		return nil, nil
	}
	l, earned, err := earnedBy(tx, sc, a.Lead)
	switch f := apperr.As(err); {
	case f != nil:
		return nil, field("lead", apperr.InvalidValue, noAdjustableLead)
	case err != nil:
		return nil, err
	case l.AccountID != account.ID:
		return nil, field("lead", apperr.InvalidValue, noAdjustableLead)
	case earned.Currency != a.Amount.Currency.String():
		return nil, field("currency", apperr.InvalidValue,
			"This lead's payout is in "+earned.Currency+". Choose the same currency.")
	}
	return &l.ID, nil
}

const noAdjustableLead = "No lead with this ID earned a payout in this account. Check the lead ID and the account."

// HasAdjustment reports whether the adjustment is already in the ledger. An adjustment with the
// same id but a different account, amount or lead does not count.
func (s *Service) HasAdjustment(ctx context.Context, sc scope.Scope, a NewAdjustment) (bool, error) {
	var r models.LedgerReference
	q := s.db.Gorm.WithContext(ctx).
		Where("partner_id = (SELECT partner_id FROM accounts WHERE id = ?) AND kind = ? AND reference = ?",
			a.Account, models.EntryAdjustment, id.Format(id.Adjustment, a.ID)).Limit(1).Find(&r)
	if q.Error != nil || q.RowsAffected == 0 || !sc.Allows(r.PartnerID) {
		return false, postgres.Translate(q.Error)
	}
	var e models.LedgerEntry
	err := s.db.Pool.QueryRow(ctx, `SELECT account_id, lead_id, amount_minor, currency FROM ledger_entries WHERE id = $1 AND occurred_at = $2`,
		postgres.PlanEachTime, r.EntryID, r.OccurredAt).Scan(&e.AccountID, &e.LeadID, &e.AmountMinor, &e.Currency)
	if err != nil {
		return false, postgres.Translate(err)
	}
	lead := uuid.Nil
	if e.LeadID != nil {
		lead = *e.LeadID
	}
	same := e.AccountID == a.Account && lead == a.Lead &&
		e.AmountMinor == a.Amount.Minor && e.Currency == a.Amount.Currency.String()
	return same, nil
}

// NewAdjustmentID returns a new id for an adjustment.
func (s *Service) NewAdjustmentID() uuid.UUID { return id.New(s.clock.Now()) }
