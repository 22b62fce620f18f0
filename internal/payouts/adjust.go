package payouts

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/ledger"
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

var (
	// ErrAdjusted means that there is already an adjustment with this ID.
	ErrAdjusted = apperr.New(apperr.Conflict, "adjusted", "This adjustment was already submitted.")

	errAdjusterUnknown = apperr.New(apperr.Forbidden, "person",
		"Only a signed-in user can make adjustments. Adjust the balance in the console.")
)

// Adjust adds an adjustment to the ledger. If the adjustment exceeds what the user may still adjust alone on this day,
// it becomes an open request instead, which another user approves or rejects. Adjust returns ErrAdjusted if there is
// already an adjustment with this ID.
func (s *Service) Adjust(ctx context.Context, sc scope.Scope, a NewAdjustment) (made models.Adjustment, err error) {
	if a.Reason, err = requiredText("why", a.Reason, "Enter a reason. The partner will see it on the statement."); err != nil {
		return made, err
	}
	if a.Amount.Minor == 0 || a.Amount.Minor > MaxAdjustment || a.Amount.Minor < -MaxAdjustment {
		return made,
			apperr.InvalidField("amount", apperr.InvalidValue, "Enter an amount other than 0, between -1,000,000 and 1,000,000.")
	}
	if !a.Amount.Currency.Valid() {
		return made, apperr.InvalidField("currency", apperr.Required, "Choose a currency.")
	}
	if s.by.Staff == uuid.Nil {
		return made, errAdjusterUnknown
	}
	now := s.clock.Now()
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := s.lockApprovalLimit(tx); err != nil {
			return err
		}
		account, err := adjustedAccount(tx, sc, a)
		if err != nil {
			return err
		}
		lead, err := s.adjustedLead(tx, sc, a, account)
		if err != nil {
			return err
		}
		used, err := s.usedToday(tx, adjustedTodaySQL)
		if err != nil {
			return err
		}
		made = models.Adjustment{
			ID:          a.ID,
			PartnerID:   account.PartnerID,
			AccountID:   account.ID,
			LeadID:      lead,
			AmountMinor: a.Amount.Minor,
			Currency:    a.Amount.Currency.String(),
			State:       models.AdjustmentWithinLimit,
			RequestedBy: s.by.Name,
			RequesterID: s.by.Staff,
			RequestedAt: now,
		}
		if used[made.Currency]+max(made.AmountMinor, -made.AmountMinor) > s.policy.ApprovalLimit(a.Amount.Currency) {
			made.State, made.Reason = models.AdjustmentOpen, a.Reason
		}
		if err := tx.Create(&made).Error; err != nil {
			return err
		}
		action := "adjustment.request"
		if made.State == models.AdjustmentWithinLimit {
			action = "ledger.adjust"
			if err := s.bookAdjustment(tx, made, a.Reason, now); err != nil {
				return err
			}
		}
		return s.auditAdjustment(tx, action, made, account.Identifier)
	})
	if errors.Is(err, errEntryExists) {
		err = ErrAdjusted
	}
	return made, err
}

// bookAdjustment adds an adjustment to the ledger.
func (s *Service) bookAdjustment(tx *gorm.DB, a models.Adjustment, reason string, now time.Time) error {
	return addEntries(tx, []models.LedgerEntry{ledger.Adjustment(a, reason, s.by.Name, now)})
}

// auditAdjustment adds an audit event about an adjustment. The event does not contain the texts, because they can
// name a consumer and nothing can be erased from the audit log.
func (s *Service) auditAdjustment(tx *gorm.DB, action string, a models.Adjustment, account string) error {
	after := map[string]any{"amount": money.AmountOf(a.AmountMinor, a.Currency).String(), "account": account}
	if action != "ledger.adjust" && action != "adjustment.request" {
		after["requested_by"] = a.RequestedBy
	}
	return s.auditChange(tx, action, "adjustment", AdjustmentID(a.ID), a.PartnerID, after, "")
}

func adjustedAccount(tx *gorm.DB, sc scope.Scope, a NewAdjustment) (account models.Account, err error) {
	q := tx.Where("id = ?", a.Account).Limit(1).Find(&account)
	switch {
	case q.Error != nil:
		return account, q.Error
	case q.RowsAffected == 0 || !sc.Allows(account.PartnerID):
		return account, apperr.InvalidField("account", apperr.InvalidValue, "Choose one of the partner's accounts.")
	case account.Sandbox:
		return account,
			apperr.InvalidField("account", apperr.InvalidValue, "Sandbox accounts have no balance. Choose another account.")
	}
	return account, nil
}

// adjustedLead returns the id of the lead that the adjustment is for, or nil if there is none. It
// returns an error if the lead does not belong to the account, or if its accrual is in another
// currency.
func (s *Service) adjustedLead(
	tx *gorm.DB, sc scope.Scope, a NewAdjustment, account models.Account,
) (*uuid.UUID, error) {
	if a.Lead == uuid.Nil {
		return nil, nil
	}
	l, earned, err := earnedBy(tx, sc, a.Lead)
	switch f := apperr.As(err); {
	case f != nil:
		return nil, apperr.InvalidField("lead", apperr.InvalidValue, noAdjustableLead)
	case err != nil:
		return nil, err
	case l.AccountID != account.ID:
		return nil, apperr.InvalidField("lead", apperr.InvalidValue, noAdjustableLead)
	case earned.Currency != a.Amount.Currency.String():
		return nil, apperr.InvalidField("currency", apperr.InvalidValue,
			"This lead's payout is in "+earned.Currency+". Choose the same currency.")
	}
	return &l.ID, nil
}

const noAdjustableLead = "No lead with this ID earned a payout in this account. Check the lead ID and the account."

// Same reports whether an adjustment has the account, amount and lead of a.
func (a NewAdjustment) Same(made models.Adjustment) bool {
	lead := uuid.Nil
	if made.LeadID != nil {
		lead = *made.LeadID
	}
	return made.AccountID == a.Account && lead == a.Lead &&
		made.AmountMinor == a.Amount.Minor && made.Currency == a.Amount.Currency.String()
}

// NewAdjustmentID returns a new id for an adjustment.
func (s *Service) NewAdjustmentID() uuid.UUID { return id.New(s.clock.Now()) }

// AdjustmentID formats the ID of an adjustment as users see it, such as ad_….
func AdjustmentID(a uuid.UUID) string { return id.Format(id.Adjustment, a) }
