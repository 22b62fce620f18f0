package payouts

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

var (
	errNoAdjustment      = apperr.New(apperr.NotFound, "adjustment", "Not Found")
	errAdjustmentDecided = apperr.New(apperr.Conflict, "decided",
		"This adjustment has already been approved or rejected. Reload the page.")
	errSameRequester = apperr.New(apperr.Forbidden, "same_person",
		"You requested this adjustment. Another user must approve it.")
)

// Adjustment is an adjustment with the names that are displayed with it.
type Adjustment struct {
	models.Adjustment
	Partner     string // slug
	PartnerName string
	Identifier  string // the account's
}

// adjustments returns a query for the adjustments in a scope.
func adjustments(db *gorm.DB, sc scope.Scope) *gorm.DB {
	q := db.Table("adjustments AS d").
		Select(postgres.Columns[models.Adjustment]("d") + ", p.slug AS partner, p.name AS partner_name, a.identifier").
		Joins("JOIN partners p ON p.id = d.partner_id JOIN accounts a ON a.id = d.account_id")
	if !sc.All() {
		q = q.Where("d.partner_id IN ?", sc.IDs())
	}
	return q
}

// Adjustment returns an adjustment with its reason, even if the reason is in the ledger. If the adjustment is not in
// the scope, the error is errNoAdjustment.
func (s *Service) Adjustment(ctx context.Context, sc scope.Scope, adjustment uuid.UUID) (Adjustment, error) {
	db := s.db.Gorm.WithContext(ctx)
	a, err := findAdjustment(db, sc, adjustment)
	if err == nil && (a.State == models.AdjustmentWithinLimit || a.State == models.AdjustmentApproved) {
		err = db.Raw(`SELECT coalesce(max(n.note), '')
			FROM ledger_references r JOIN ledger_notes n ON n.entry_id = r.entry_id
			WHERE r.partner_id = ? AND r.kind = 'adjustment' AND r.reference = ?`,
			a.PartnerID, AdjustmentID(a.ID)).Scan(&a.Reason).Error
	}
	return a, postgres.Translate(err)
}

func findAdjustment(db *gorm.DB, sc scope.Scope, adjustment uuid.UUID) (a Adjustment, err error) {
	q := adjustments(db, sc).Where("d.id = ?", adjustment).Limit(1).Scan(&a)
	if q.Error == nil && q.RowsAffected == 0 {
		return a, errNoAdjustment
	}
	return a, q.Error
}

// CheckApproveAdjustment returns nil if the given actor can approve an adjustment. Otherwise it returns an error that
// states why not. It does not check permissions.
func CheckApproveAdjustment(a models.Adjustment, by audit.Actor) error {
	switch {
	case a.State != models.AdjustmentOpen:
		return errAdjustmentDecided
	case !by.MayApprove(&a.RequesterID):
		return errSameRequester
	}
	return nil
}

// ApproveAdjustment adds a requested adjustment to the ledger. The user who requested it cannot approve it. The entry
// has the time of the approval, because payout runs with an earlier cutoff may already have been prepared.
func (s *Service) ApproveAdjustment(ctx context.Context, sc scope.Scope, adjustment uuid.UUID) error {
	return s.decideAdjustment(ctx, sc, adjustment, func(tx *gorm.DB, a *models.Adjustment, now time.Time) (string, error) {
		if err := CheckApproveAdjustment(*a, s.by); err != nil {
			return "", err
		}
		reason := a.Reason
		a.State, a.Reason = models.AdjustmentApproved, ""
		return "adjustment.approve", s.bookAdjustment(tx, *a, reason, now)
	})
}

// RejectAdjustment rejects a requested adjustment and leaves the ledger unchanged. Users can also reject their own
// requests. Only staff see the reason.
func (s *Service) RejectAdjustment(ctx context.Context, sc scope.Scope, adjustment uuid.UUID, why string) error {
	why, err := requiredText("answer", why, "Explain why you are rejecting this adjustment.")
	if err != nil {
		return err
	}
	return s.decideAdjustment(ctx, sc, adjustment, func(_ *gorm.DB, a *models.Adjustment, _ time.Time) (string, error) {
		if a.State != models.AdjustmentOpen {
			return "", errAdjustmentDecided
		}
		a.State, a.DecisionNote = models.AdjustmentRejected, why
		return "adjustment.reject", nil
	})
}

// decideAdjustment locks an adjustment and calls the function do, which changes its state and its texts, and returns
// the action for the audit log.
func (s *Service) decideAdjustment(
	ctx context.Context, sc scope.Scope, adjustment uuid.UUID,
	do func(tx *gorm.DB, a *models.Adjustment, now time.Time) (action string, err error),
) error {
	now := s.clock.Now()
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		found, err := findAdjustment(tx, sc, adjustment)
		if err != nil {
			return err
		}
		a := found.Adjustment
		var lead models.Lead
		if a.LeadID != nil {
			err := tx.Clauses(delayErasure).Select("state").Where("id = ?", *a.LeadID).Limit(1).Find(&lead).Error
			if err != nil {
				return err
			}
		}
		if err := tx.Clauses(clause.Locking{Strength: "UPDATE"}).Where("id = ?", a.ID).Take(&a).Error; err != nil {
			return err
		}
		action, err := do(tx, &a, now)
		if err != nil {
			return err
		}
		if lead.State == models.LeadErased {
			a.DecisionNote = "" // it may describe the consumer
		}
		if err := tx.Model(&models.Adjustment{}).Where("id = ?", a.ID).Updates(map[string]any{
			"state":         a.State,
			"reason":        a.Reason,
			"decided_by":    s.by.Name,
			"decider_id":    s.by.StaffID(),
			"decided_at":    now,
			"decision_note": a.DecisionNote,
		}).Error; err != nil {
			return err
		}
		return s.auditAdjustment(tx, action, a, found.Identifier)
	})
}

// AdjustmentQuery selects a page of adjustments that exceeded a limit.
type AdjustmentQuery struct {
	Partner  uuid.UUID // uuid.Nil for any
	Currency money.Currency
	State    models.AdjustmentState
	Page     postgres.Page[uuid.UUID]
}

// Adjustments lists one page of the adjustments that exceeded a limit, newest first.
func (s *Service) Adjustments(
	ctx context.Context, sc scope.Scope, f AdjustmentQuery,
) (all []Adjustment, newer, older bool, err error) {
	q := f.Page.Apply(adjustments(s.db.Gorm.WithContext(ctx), sc), "d.id").Where("d.state <> 'within_limit'")
	if f.Partner != uuid.Nil {
		q = q.Where("d.partner_id = ?", f.Partner)
	}
	if f.Currency.Valid() {
		q = q.Where("d.currency = ?", f.Currency.String())
	}
	if f.State != "" {
		q = q.Where("d.state = ?", f.State)
	}
	if err := q.Scan(&all).Error; err != nil {
		return nil, false, false, postgres.Translate(err)
	}
	all, newer, older = postgres.SplitPage(f.Page, all)
	return all, newer, older, nil
}

// WaitingAdjustments counts the adjustments that are waiting for approval. It omits those that the given actor
// requested, because the actor cannot approve them.
func (s *Service) WaitingAdjustments(ctx context.Context, sc scope.Scope, actor audit.Actor) (n int64, err error) {
	err = adjustments(s.db.Gorm.WithContext(ctx), sc).
		Where("d.state = 'open' AND d.requester_id <> ?", actor.Staff).Count(&n).Error
	return n, postgres.Translate(err)
}
