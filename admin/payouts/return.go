package payouts

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) requestedReturn(k *web.Request) (r models.Return, err error) {
	object, err := k.PathID("id", id.Return)
	if err != nil {
		return r, err
	}
	r, err = h.Payouts.Return(k.R.Context(), k.Scope, object)
	return r, web.OrNotFound(err)
}

func (h *Handlers) returnPage(k *web.Request) error {
	r, err := h.requestedReturn(k)
	if err != nil {
		return err
	}
	return h.showReturn(k, http.StatusOK, r, nil)
}

func (h *Handlers) showReturn(k *web.Request, status int, r models.Return, mistakes ui.Errors) error {
	lead, found, err := h.earned(k, r.LeadID)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("return %s: lead has no accrual", id.Format(id.Return, r.ID))
	}
	v := view.ReturnView{
		Shell:       k.Shell("Lead return", allReturns),
		URL:         returnURL(r.ID),
		ID:          id.Format(id.Return, r.ID),
		State:       string(r.State),
		Lead:        lead,
		Reason:      ui.Sentence(payouts.ReturnReasonLabel(r.Reason)),
		Evidence:    cmp.Or(k.Erasable(r.Evidence), "erased"),
		RequestedBy: r.RequestedBy,
		RequestedAt: r.RequestedAt,
		DecidedBy:   r.DecidedBy,
		DecidedAt:   web.TimeOf(r.DecidedAt),
		Answer:      k.Erasable(r.DecisionNote),
		CanDecide:   k.MayAt(web.ApprovePayouts, r.PartnerID),
		StepUp:      k.StepUp(),
		Errors:      mistakes,
	}
	if r.State == models.ReturnOpen && v.CanDecide {
		if v.AcceptBlocked, v.Acceptors, err = h.acceptBlocked(k, r); err != nil {
			return err
		}
	}
	if k.MayAt(web.ExportEvidence, r.PartnerID) {
		v.EvidenceURL = web.LeadURL(r.LeadID) + "/evidence?return=" + v.ID
	}
	if len(mistakes) > 0 && r.State == models.ReturnOpen {
		v.Answer = k.R.PostForm.Get("answer")
	}
	return k.Show(status, view.Return(v))
}

// acceptBlocked returns why the user cannot accept a return, and who can. If the user can accept it, reason is "".
func (h *Handlers) acceptBlocked(k *web.Request, r models.Return) (reason, acceptors string, err error) {
	err = h.payouts(k).CheckAccept(k.R.Context(), r)
	f := apperr.As(err)
	if f == nil || f.Code != apperr.Forbidden {
		return "", "", err
	}
	acceptors, err = k.OtherUsers(web.ApprovePayouts, r.PartnerID, k.By.Staff)
	return f.Message, acceptors, err
}

// earned returns a lead with its accrual. The result found is false if the lead has no accrual that the
// user can see.
func (h *Handlers) earned(k *web.Request, lead uuid.UUID) (l view.ReturnLead, found bool, err error) {
	all, _, _, err := h.Payouts.Entries(k.R.Context(), k.Scope, payouts.Filter{Lead: lead, Kind: models.EntryAccrual},
		postgres.Page[int64]{Size: 1})
	if err != nil || len(all) == 0 {
		return l, false, err
	}
	e := all[0]
	return view.ReturnLead{
		Lead:       h.leadLink(k, e.LeadID, e.PartnerID),
		Partner:    e.PartnerName,
		Identifier: e.Identifier,
		At:         e.OccurredAt,
		Amount:     e.Amount(),
	}, true, nil
}
