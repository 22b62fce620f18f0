package payouts

import (
	"cmp"
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) adjustment(k *web.Request) (a payouts.Adjustment, err error) {
	object, err := k.PathID("id", id.Adjustment)
	if err != nil {
		return a, err
	}
	a, err = h.Payouts.Adjustment(k.R.Context(), k.Scope, object)
	return a, web.OrNotFound(err)
}

func (h *Handlers) adjustmentPage(k *web.Request) error {
	a, err := h.adjustment(k)
	if err != nil {
		return err
	}
	return h.showAdjustment(k, http.StatusOK, a, nil)
}

func (h *Handlers) showAdjustment(k *web.Request, status int, a payouts.Adjustment, mistakes ui.Errors) error {
	v := view.AdjustmentView{
		Shell:     k.Shell("Adjustment", allAdjustments),
		URL:       adjustmentURL(a.ID),
		Row:       h.adjustmentRow(k, a),
		Reason:    cmp.Or(k.Erasable(a.Reason), "erased"),
		DecidedBy: a.DecidedBy,
		DecidedAt: web.TimeOf(a.DecidedAt),
		Answer:    k.Erasable(a.DecisionNote),
		LedgerURL: "/payouts?kind=adjustment&account=" + id.Format(id.Account, a.AccountID),
		CanDecide: k.MayAt(web.ApprovePayouts, a.PartnerID),
		StepUp:    k.StepUp(),
		Errors:    mistakes,
	}
	if a.State == models.AdjustmentOpen {
		var err error
		if v.Approvers, err = k.OtherUsers(web.ApprovePayouts, a.PartnerID, a.RequesterID); err != nil {
			return err
		}
		if err := payouts.CheckApproveAdjustment(a.Adjustment, k.By); err != nil {
			v.ApprovalBlocked = apperr.As(err).Message
		}
		if len(mistakes) > 0 {
			v.Answer = k.R.PostForm.Get("answer")
		}
	}
	return k.Show(status, view.Adjustment(v))
}

func (h *Handlers) approveAdjustment(k *web.Request) error {
	return h.decideAdjustment(k, func(a payouts.Adjustment) error {
		return h.payouts(k).ApproveAdjustment(k.R.Context(), k.Scope, a.ID)
	})
}

func (h *Handlers) rejectAdjustment(k *web.Request) error {
	return h.decideAdjustment(k, func(a payouts.Adjustment) error {
		return h.payouts(k).RejectAdjustment(k.R.Context(), k.Scope, a.ID, k.R.PostForm.Get("answer"))
	})
}

func (h *Handlers) decideAdjustment(k *web.Request, decide func(payouts.Adjustment) error) error {
	a, err := h.adjustment(k)
	if err != nil {
		return err
	}
	return k.Submit(web.Form{
		StepUp: web.StepUpRequired,
		Do:     func() (string, error) { return adjustmentURL(a.ID), decide(a) },
		Show: func(r web.Rejected) error {
			if a, err = h.adjustment(k); err != nil { // another user may have decided it
				return err
			}
			return h.showAdjustment(k, r.Status, a, r.Errors)
		},
	})
}
