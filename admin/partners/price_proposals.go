package partners

import (
	"cmp"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

// proposedPrices returns the partner's price change that is waiting for approval, or nil if there is
// none.
func (h *Handlers) proposedPrices(k *web.Request, p models.Partner, own partners.Pricing) (*view.PriceProposal, error) {
	waiting, err := h.Partners.PriceProposal(k.R.Context(), p)
	if err != nil || waiting == nil {
		return nil, err
	}
	v := &view.PriceProposal{
		ID:          waiting.ID.String(),
		Proposer:    waiting.Proposer,
		At:          waiting.ProposedAt,
		Own:         !k.By.MayApprove(&waiting.ProposerID),
		Stale:       waiting.BasedOn != own.Version || waiting.Unread,
		MayWithdraw: k.May(web.WritePricing),
	}
	v.MayApprove = k.May(web.PublishPricing) && !v.Own && !v.Stale
	labels := map[string]string{
		"adjustment": "Adjustment",
		"daily_cap":  "Daily lead cap",
		"exclusions": "Exclusions",
	}
	for _, c := range waiting.Changes(own) {
		v.Changes = append(v.Changes, ui.Change{
			Name:   labels[c.Field],
			Before: cmp.Or(c.Before, "none"),
			After:  cmp.Or(c.After, "none"),
		})
	}
	return v, nil
}

func (h *Handlers) approvePrices(k *web.Request) error {
	return h.decidePrices(k, web.StepUpRequired, func(p models.Partner, proposal uuid.UUID) error {
		return h.partners(k).ApprovePrice(k.R.Context(), k.Scope, p.ID, proposal)
	})
}

func (h *Handlers) withdrawPrices(k *web.Request) error {
	return h.decidePrices(k, web.NoStepUp, func(p models.Partner, proposal uuid.UUID) error {
		return h.partners(k).WithdrawPrice(k.R.Context(), k.Scope, p.ID, proposal)
	})
}

// decidePrices handles a form that approves or withdraws a proposal. It calls the function do with the
// partner and the ID of the proposal.
func (h *Handlers) decidePrices(k *web.Request, proof web.StepUpRule, do func(models.Partner, uuid.UUID) error) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	return k.Submit(web.Form{
		StepUp: proof,
		Do: func() (string, error) {
			proposal, _ := uuid.Parse(k.R.PostForm.Get("proposal")) // an invalid id becomes uuid.Nil, which matches no proposal
			return web.PartnerURL(p.ID) + "?tab=prices", do(p, proposal)
		},
		Show: func(r web.Rejected) error {
			if f := apperr.As(r.Err); f != nil && f.Code == apperr.Forbidden {
				k.AuditRejection(f)
			}
			own, err := h.Partners.Pricing(k.R.Context(), p)
			if err != nil {
				return err
			}
			return h.showPrices(k, r.Status, p, own, pricesForm{
				PriceForm: own.Form(),
				Rejected:  web.Rejected{Version: own.Version, Errors: r.Errors},
			})
		},
	})
}
