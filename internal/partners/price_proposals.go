package partners

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// PricePolicy is the platform's configuration for changes to partner pricing.
type PricePolicy struct {
	RequireApproval bool // one user proposes a change and another approves it
}

// WithPolicy returns a copy of the service that applies a policy.
func (s *Service) WithPolicy(p PricePolicy) *Service {
	c := *s
	c.policy = p
	return &c
}

// RequireApproval reports whether changes to partner pricing need approval.
func (s *Service) RequireApproval() bool { return s.policy.RequireApproval }

// PriceProposal is a change to partner pricing that is waiting for approval.
type PriceProposal struct {
	Price
	ID         uuid.UUID
	Proposer   string
	ProposerID uuid.UUID
	ProposedAt time.Time
	BasedOn    int  // version of the pricing when the change was proposed
	Unread     bool // the exclusions cannot be read, so the proposal cannot be approved
}

var (
	errNoStaff = apperr.New(apperr.Forbidden, "staff",
		"Changes to partner pricing need another user's approval. Propose this change in the console.")
	errProposed = apperr.New(apperr.Conflict, "proposed",
		"Another change to this partner's pricing is waiting for approval. It must be approved or withdrawn first.")
	errNoProposal = apperr.New(apperr.Conflict, "no_proposal",
		"This proposal has already been approved or withdrawn. Check the current pricing.")
	errStaleProposal = apperr.New(apperr.Conflict, "stale_proposal",
		"The pricing has changed since this proposal was made. Withdraw the proposal and make a new one.")
	errSameProposer = apperr.New(apperr.Forbidden, "same_person",
		"You proposed this change. Another user must approve it.")
	errUnreadProposal = apperr.New(apperr.Conflict, "unread_proposal",
		"The exclusions in this proposal cannot be read. Withdraw the proposal and make a new one.")
)

// PriceProposal returns the change that is waiting for approval, or nil.
func (s *Service) PriceProposal(ctx context.Context, p models.Partner) (*PriceProposal, error) {
	return priceProposal(s.db.Gorm.WithContext(ctx), p.ID)
}

// PriceProposals returns up to size partners that have a proposal. It omits the proposals of one user,
// whose ID is the parameter except.
func (s *Service) PriceProposals(
	ctx context.Context, sc scope.Scope, except uuid.UUID, size int,
) (all []models.Partner, err error) {
	err = restrict(s.db.Gorm.WithContext(ctx), sc, "id").
		Where("id IN (SELECT partner_id FROM partner_price_proposals WHERE proposer_id <> ?)", except).Order("slug").
		Limit(size).Find(&all).Error
	return all, postgres.Translate(err)
}

func priceProposal(db *gorm.DB, partner uuid.UUID) (*PriceProposal, error) {
	var row models.PartnerPriceProposal
	found := db.Where("partner_id = ?", partner).Limit(1).Find(&row)
	if found.Error != nil || found.RowsAffected == 0 {
		return nil, postgres.Translate(found.Error)
	}
	p := &PriceProposal{
		ID:         row.ID,
		Proposer:   row.Proposer,
		ProposerID: row.ProposerID,
		ProposedAt: row.ProposedAt,
		BasedOn:    row.BasedOn,
	}
	var err error
	p.Price, err = priceOf(models.PartnerPrice{
		Adjustment:   row.Adjustment,
		Exclusions:   row.Exclusions,
		DailyLeadCap: row.DailyLeadCap,
	})
	p.Unread = err != nil
	return p, nil
}

func (s *Service) propose(tx *gorm.DB, partner uuid.UUID, version int, to Price, e edit) error {
	if s.by.Staff == uuid.Nil {
		return errNoStaff
	}
	waiting, err := priceProposal(tx, partner)
	if err != nil {
		return err
	}
	if waiting != nil {
		return errProposed
	}
	row, err := priceRow(partner, to)
	if err != nil {
		return err
	}
	newID, now := s.newID()
	if err := tx.Create(&models.PartnerPriceProposal{
		PartnerID:    partner,
		ID:           newID,
		Adjustment:   row.Adjustment,
		Exclusions:   row.Exclusions,
		DailyLeadCap: row.DailyLeadCap,
		BasedOn:      version,
		Proposer:     s.by.Name,
		ProposerID:   s.by.Staff,
		ProposedAt:   now,
	}).Error; err != nil {
		return err
	}
	return s.auditChange(tx, "partner.prices_propose", "partner", id.Format(id.Partner, partner), partner, e.before,
		e.after)
}

// ApprovePrice applies a proposal. It fails if the approving user also made the proposal, or if the
// pricing has changed since the proposal was made.
func (s *Service) ApprovePrice(ctx context.Context, sc scope.Scope, partner, proposal uuid.UUID) error {
	return s.decide(ctx, sc, partner, proposal, func(tx *gorm.DB, p PriceProposal) error {
		before, err := ownPrice(tx, partner)
		switch {
		case err != nil:
			return err
		case !s.by.MayApprove(&p.ProposerID):
			return errSameProposer
		case before.Version != p.BasedOn:
			return errStaleProposal
		case p.Unread:
			return errUnreadProposal
		}
		e := priceEdit(before, p.Price)
		if len(e.columns) == 0 {
			return errStaleProposal
		}
		e.after["proposer"] = p.Proposer
		return s.replacePrice(tx, partner, before, p.Price, e)
	})
}

// WithdrawPrice removes a proposal without applying it.
func (s *Service) WithdrawPrice(ctx context.Context, sc scope.Scope, partner, proposal uuid.UUID) error {
	return s.decide(ctx, sc, partner, proposal, func(tx *gorm.DB, p PriceProposal) error {
		return s.auditChange(tx, "partner.prices_withdraw", "partner", id.Format(id.Partner, partner), partner,
			map[string]any{"proposer": p.Proposer}, nil)
	})
}

// decide removes a proposal and calls the function do, in one transaction. It fails if the proposal that
// the user saw no longer exists.
func (s *Service) decide(
	ctx context.Context, sc scope.Scope, partner, proposal uuid.UUID, do func(*gorm.DB, PriceProposal) error,
) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if _, err := lockPartner(tx, sc, partner); err != nil {
			return err
		}
		p, err := priceProposal(tx, partner)
		if err != nil {
			return err
		}
		if p == nil || p.ID != proposal {
			return errNoProposal
		}
		if err := tx.Where("id = ?", p.ID).Delete(&models.PartnerPriceProposal{}).Error; err != nil {
			return err
		}
		return do(tx, *p)
	})
}

// PriceChange is a field that a proposal changes. Before and After are formatted for display and
// are "" if there is no value.
type PriceChange struct{ Field, Before, After string }

// Changes returns the fields of the current pricing that the proposal would change.
func (p PriceProposal) Changes(old Pricing) (all []PriceChange) {
	e := priceEdit(old, p.Price)
	for _, field := range []string{"adjustment", "daily_cap", "exclusions"} {
		if after, changed := e.after[field]; changed {
			all = append(all, PriceChange{field, e.before[field].(string), after.(string)})
		}
	}
	return all
}

func priceEdit(before Pricing, to Price) (e edit) {
	e.set("adjustment", "adjustment",
		pricingrules.FormatAdjustment(before.Adjustment), pricingrules.FormatAdjustment(to.Adjustment))
	e.set("daily_lead_cap", "daily_cap", capText(before.DailyLeadCap), capText(to.DailyLeadCap))
	e.set("exclusions", "exclusions", exclusionText(before.Exclusions, "; "), exclusionText(to.Exclusions, "; "))
	return e
}

func (s *Service) replacePrice(tx *gorm.DB, partner uuid.UUID, old Pricing, to Price, e edit) error {
	if to.AgreedAt = old.AgreedAt; old.none() {
		to.AgreedAt = s.clock.Now()
	}
	if err := s.writePrice(tx, partner, old.Version, to); err != nil {
		return err
	}
	return s.auditChange(tx, "partner.prices", "partner", id.Format(id.Partner, partner), partner, e.before, e.after)
}
