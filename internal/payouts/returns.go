package payouts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/ledger"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Reasons lists the reasons for returning a lead, with their labels.
var Reasons = []struct {
	Reason models.ReturnReason
	Words  string
}{
	{models.WrongContact, "the consumer cannot be reached at this number or address"},
	{models.Duplicate, "the same consumer already made the same request"},
	{models.NoConsent, "the consumer did not agree to be contacted"},
	{models.WrongService, "the consumer wants a different service"},
	{models.OutsideArea, "the location is outside the buyer's service area"},
	{models.NotACustomer, "the person is a competitor, a job seeker or otherwise not a customer"},
	{models.Fraud, "the lead is fake"},
	{models.OtherReason, "another reason (describe it in the evidence)"},
}

// ReturnReasonLabel returns the label of a reason, or the reason itself if it is unknown.
func ReturnReasonLabel(r models.ReturnReason) string {
	for _, reason := range Reasons {
		if reason.Reason == r {
			return reason.Words
		}
	}
	return string(r)
}

var (
	errNoLead   = apperr.New(apperr.NotFound, "lead", "Not Found")
	errNoReturn = apperr.New(apperr.NotFound, "return", "Not Found")
	errErased   = apperr.New(apperr.Conflict, "erased",
		"The personal data of this lead was erased, so the lead can no longer be returned.")
	errSandbox = apperr.New(apperr.Conflict, "sandbox",
		"This is a sandbox lead. It earned nothing and cannot be returned.")
	errDecided = apperr.New(apperr.Conflict, "decided", "This return has already been decided. Reload the page.")
)

// RequestReturn requests the return of a lead. The ledger does not change until the return is accepted.
// The audit event does not contain the evidence, because the evidence may describe the consumer and
// nothing can be erased from the audit log.
func (s *Service) RequestReturn(
	ctx context.Context, sc scope.Scope, lead uuid.UUID, reason models.ReturnReason, evidence string,
) (r models.Return, err error) {
	if evidence, err = requiredText("evidence", evidence, "Enter the evidence, such as the consumer's answer, the time of your call, or the ID of the duplicate lead."); err != nil {
		return r, err
	}
	if ReturnReasonLabel(reason) == string(reason) {
		return r, apperr.InvalidField("reason", apperr.InvalidValue, "Choose one of the reasons.")
	}
	now := s.clock.Now()
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		l, earned, err := s.returnableLead(tx, sc, lead, now)
		if err != nil {
			return err
		}
		r = models.Return{
			ID:          id.New(now),
			LeadID:      l.ID,
			PartnerID:   l.PartnerID,
			AccountID:   l.AccountID,
			AmountMinor: earned.AmountMinor,
			Currency:    earned.Currency,
			Reason:      reason,
			Evidence:    evidence,
			State:       models.ReturnOpen,
			RequestedBy: s.by.Name,
			RequesterID: s.by.StaffID(),
			RequestedAt: now,
			RowVersion:  1,
		}
		if err := tx.Create(&r).Error; err != nil {
			return err
		}
		return s.auditChange(tx, "return.request", "return", id.Format(id.Return, r.ID), r.PartnerID, map[string]any{
			"lead":   id.Format(id.Lead, l.ID),
			"reason": string(reason),
		}, "")
	})
	return r, err
}

// CheckReturn returns nil if the return of the lead can be requested. Otherwise it returns the error that
// RequestReturn would return.
func (s *Service) CheckReturn(ctx context.Context, sc scope.Scope, lead uuid.UUID) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if _, _, err := s.returnableLead(tx, sc, lead, s.clock.Now()); err != nil {
			return err
		}
		var returned int64
		err := tx.Model(&models.Return{}).Where("lead_id = ? AND state <> 'rejected'", lead).Count(&returned).Error
		if err == nil && returned > 0 {
			err = errReturned
		}
		return err
	})
}

// returnableLead returns a lead whose return can be requested, and its accrual. It delays the lead's
// erasure. It does not check whether the lead already has a return.
func (s *Service) returnableLead(
	tx *gorm.DB, sc scope.Scope, lead uuid.UUID, now time.Time,
) (l models.Lead, e models.LedgerEntry, err error) {
	if l, e, err = earnedBy(tx, sc, lead); err != nil {
		return l, e, err
	}
	if l.State == models.LeadErased {
		return l, e, errErased
	}
	if ends := l.ReceivedAt.Add(s.policy.ReturnWindow); now.After(ends) {
		return l, e, apperr.New(apperr.Conflict, "window",
			fmt.Sprintf("The deadline for returning this lead was %s UTC. Adjust the balance instead.",
				ends.UTC().Format("2 Jan 2006 15:04")))
	}
	return l, e, nil
}

// delayErasure is a lock on a lead that prevents its erasure until the transaction ends. Otherwise, a
// text that the transaction adds could remain after the erasure. docs/explanation/reliability.md
// describes the order of locks.
var delayErasure = clause.Locking{Strength: "SHARE"}

// earnedBy returns a lead and its accrual, and delays the lead's erasure. It returns errNoLead if the
// lead is not in the scope.
func earnedBy(tx *gorm.DB, sc scope.Scope, lead uuid.UUID) (l models.Lead, e models.LedgerEntry, err error) {
	q := tx.Clauses(delayErasure).Select("id", "partner_id", "account_id", "sandbox", "state", "received_at").
		Where("id = ?", lead).Limit(1).Find(&l)
	if q.Error != nil {
		return l, e, q.Error
	}
	if q.RowsAffected == 0 || !sc.Allows(l.PartnerID) {
		return l, e, errNoLead
	}
	if l.Sandbox {
		return l, e, errSandbox
	}
	if err := tx.Exec(postgres.SetPlanEachTime).Error; err != nil {
		return l, e, err
	}
	err = tx.Where("lead_id = ? AND kind = 'accrual' AND occurred_at = ?", lead, l.ReceivedAt).Take(&e).Error
	return l, e, err
}

// AcceptReturn accepts a return and adds a ledger entry that reverses the lead's accrual. The parameter
// answer is optional. The partner sees it on the statement. CheckAccept says who can accept it.
func (s *Service) AcceptReturn(ctx context.Context, sc scope.Scope, ret uuid.UUID, answer string) error {
	answer, err := optionalText("answer", answer)
	if err != nil {
		return err
	}
	return s.decide(ctx, sc, ret, models.ReturnAccepted, answer, func(tx *gorm.DB, r models.Return, now time.Time) error {
		if err := s.checkAccept(tx, r); err != nil {
			return err
		}
		if err := addEntries(tx, []models.LedgerEntry{ledger.Return(r, s.by.Name, now)}); err != nil {
			return err
		}
		detail, err := json.Marshal(map[string]string{"reason": string(r.Reason), "return": id.Format(id.Return, r.ID)})
		if err != nil {
			return err
		}
		return tx.Create(&models.LeadEvent{
			LeadID: r.LeadID,
			Kind:   models.EventReturned,
			Detail: string(detail),
			At:     now,
		}).Error
	})
}

// RejectReturn rejects a return and leaves the ledger unchanged. Only staff see the reason.
func (s *Service) RejectReturn(ctx context.Context, sc scope.Scope, ret uuid.UUID, why string) error {
	why, err := requiredText("answer", why, "Explain why you are rejecting this return.")
	if err != nil {
		return err
	}
	return s.decide(ctx, sc, ret, models.ReturnRejected, why,
		func(*gorm.DB, models.Return, time.Time) error { return nil })
}

func (s *Service) decide(
	ctx context.Context, sc scope.Scope, ret uuid.UUID, state models.ReturnState, answer string,
	do func(*gorm.DB, models.Return, time.Time) error,
) error {
	now := s.clock.Now()
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var r models.Return
		q := tx.Where("id = ?", ret).Limit(1).Find(&r)
		if q.Error != nil {
			return q.Error
		}
		if q.RowsAffected == 0 || !sc.Allows(r.PartnerID) {
			return errNoReturn
		}
		if err := s.lockApprovalLimit(tx); err != nil {
			return err
		}
		var lead models.Lead
		if err := tx.Clauses(delayErasure).Select("state").Where("id = ?", r.LeadID).Limit(1).Find(&lead).Error; err != nil {
			return err
		}
		if err := tx.Clauses(clause.Locking{Strength: "UPDATE"}).Where("id = ?", ret).Take(&r).Error; err != nil {
			return err
		}
		if r.State != models.ReturnOpen {
			return errDecided
		}
		if lead.State == models.LeadErased {
			answer = "" // it may describe the consumer
		}
		r.DecisionNote = answer
		if err := do(tx, r, now); err != nil {
			return err
		}
		err := tx.Model(&models.Return{}).Where("id = ?", r.ID).Updates(map[string]any{
			"state":         state,
			"decided_by":    s.by.Name,
			"decider_id":    s.by.StaffID(),
			"decided_at":    now,
			"decision_note": answer,
			"row_version":   r.RowVersion + 1,
		}).Error
		if err != nil {
			return err
		}
		action := map[models.ReturnState]string{
			models.ReturnAccepted: "return.accept",
			models.ReturnRejected: "return.reject",
		}[state]
		return s.auditChange(tx, action, "return", id.Format(id.Return, r.ID), r.PartnerID,
			map[string]any{
				"lead":   id.Format(id.Lead, r.LeadID),
				"amount": money.AmountOf(r.AmountMinor, r.Currency).String(),
			}, "")
	})
}

// Return loads the return with the given ID. If the return is not in the scope, the error is
// errNoReturn.
func (s *Service) Return(ctx context.Context, sc scope.Scope, ret uuid.UUID) (r models.Return, err error) {
	q := s.db.Gorm.WithContext(ctx).Where("id = ?", ret).Limit(1).Find(&r)
	if q.Error == nil && (q.RowsAffected == 0 || !sc.Allows(r.PartnerID)) {
		return models.Return{}, errNoReturn
	}
	return r, postgres.Translate(q.Error)
}

// ReturnsOf lists the returns of a lead that are in the scope, newest first.
func (s *Service) ReturnsOf(ctx context.Context, sc scope.Scope, lead uuid.UUID) (all []models.Return, err error) {
	q := s.db.Gorm.WithContext(ctx).Where("lead_id = ?", lead)
	if !sc.All() {
		q = q.Where("partner_id IN ?", sc.IDs())
	}
	err = q.Order("id DESC").Find(&all).Error
	return all, postgres.Translate(err)
}

// ReturnQuery selects a page of returns.
type ReturnQuery struct {
	Partner, Lead uuid.UUID // uuid.Nil for any
	State         models.ReturnState
	Page          postgres.Page[uuid.UUID]
}

// Returns lists one page of returns, newest first.
func (s *Service) Returns(
	ctx context.Context, sc scope.Scope, f ReturnQuery,
) (all []models.Return, newer, older bool, err error) {
	q := f.Page.Apply(s.db.Gorm.WithContext(ctx), "id")
	if !sc.All() {
		q = q.Where("partner_id IN ?", sc.IDs())
	}
	if f.Partner != uuid.Nil {
		q = q.Where("partner_id = ?", f.Partner)
	}
	if f.Lead != uuid.Nil {
		q = q.Where("lead_id = ?", f.Lead)
	}
	if f.State != "" {
		q = q.Where("state = ?", f.State)
	}
	if err := q.Find(&all).Error; err != nil {
		return nil, false, false, postgres.Translate(err)
	}
	all, newer, older = postgres.SplitPage(f.Page, all)
	return all, newer, older, nil
}

// OpenReturns counts the returns that are waiting for a decision.
func (s *Service) OpenReturns(ctx context.Context, sc scope.Scope) (n int64, err error) {
	q := s.db.Gorm.WithContext(ctx).Model(&models.Return{}).Where("state = 'open'")
	if !sc.All() {
		q = q.Where("partner_id IN ?", sc.IDs())
	}
	err = q.Count(&n).Error
	return n, postgres.Translate(err)
}
