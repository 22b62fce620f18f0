package leads

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/leads"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) erasePage(k *web.Request) error {
	lead, err := h.erasable(k)
	if err != nil {
		return err
	}
	if h.Erasures.CheckErase() != nil {
		return k.Redirect(web.NewErasureURL(lead))
	}
	return h.showErase(k, http.StatusOK, lead, web.Rejected{StepUp: k.StepUpAgain()})
}

func (h *Handlers) erase(k *web.Request) error {
	lead, err := h.erasable(k)
	if err != nil {
		return err
	}
	f := k.R.PostForm
	asked := erasure.NewErasure{Lead: lead, Reason: models.ErasureReason(f.Get("reason")), Note: f.Get("note")}
	_, err = asked.Check()
	return k.Submit(web.Form{
		Errors: mistakes(err),
		StepUp: web.StepUpAlways,
		Do: func() (string, error) {
			_, err := h.Erasures.By(k.By).Erase(k.R.Context(), k.Scope, asked)
			return web.LeadURL(lead), err
		},
		KeepAfterFailure: true,
		Show:             func(r web.Rejected) error { return h.showErase(k, r.Status, lead, r) },
	})
}

// erasable returns the id of the lead in the path. It returns a NotFound error if the lead does not exist, if it is
// outside the user's scope, or if all of its personal data was erased.
func (h *Handlers) erasable(k *web.Request) (uuid.UUID, error) {
	lead, err := k.PathID("id", id.Lead)
	if err != nil {
		return lead, err
	}
	if _, err := h.Leads.Get(k.R.Context(), k.Scope, lead); err != nil {
		return lead, web.OrNotFound(err)
	}
	receipt, found, err := h.Erasures.ReceiptOf(k.R.Context(), lead)
	if err == nil && found && !receipt.KeepsConsent {
		err = web.ErrNotFound
	}
	return lead, err
}

func (h *Handlers) showErase(k *web.Request, status int, lead uuid.UUID, r web.Rejected) error {
	f := k.R.PostForm
	returns, err := h.Payouts.Returnable(k.R.Context(), k.Scope, []uuid.UUID{lead})
	if err != nil {
		return err
	}
	v := view.EraseView{
		Shell:   k.Shell("Erase personal data", allLeads, leadLink(lead)),
		Action:  web.LeadURL(lead) + "/erase",
		Lead:    leadLink(lead),
		Note:    f.Get("note"),
		Returns: ui.ReturnableView{Single: true, Leads: returns.Leads, Until: returns.Until, Open: returns.Open},
		StepUp:  r.StepUp,
		Errors:  r.Errors,
	}
	for _, reason := range erasure.Reasons {
		v.Reasons = append(v.Reasons, web.ReasonOption(string(reason.Code), reason.Label))
	}
	v.Reasons = web.SelectOption(v.Reasons, f.Get("reason"))
	return k.Show(status, view.Erase(v))
}

// eraseURL returns the address of the form that erases a lead or, if that needs two users, of the form for a
// privacy request. It returns "" if the user may not create privacy requests.
func (h *Handlers) eraseURL(k *web.Request, lead uuid.UUID) string {
	switch {
	case h.Erasures.CheckErase() == nil:
		return web.LeadURL(lead) + "/erase"
	case k.May(web.WriteRequests):
		return web.NewErasureURL(lead)
	}
	return ""
}

// addErasure adds the receipt of the erasure to the page of an erased lead. It adds a link to the erasure
// form if the user may erase the lead, or the details of its consent.
func (h *Handlers) addErasure(k *web.Request, l leads.Details, v *view.DetailsView) error {
	partner := l.PartnerID
	receipt, found, err := h.Erasures.ReceiptOf(k.R.Context(), l.ID)
	if err != nil {
		return err
	}
	if (!found || receipt.KeepsConsent) && len(v.Holds) == 0 && k.MayAt(web.EraseLeads, partner) {
		v.EraseURL = h.eraseURL(k, l.ID)
	}
	if !found {
		return nil
	}
	v.Erasure = &view.Erasure{
		At: receipt.ErasedAt, By: receipt.By, Reason: ui.Sentence(erasure.ReasonLabel(receipt.Reason)), Entry: receipt.Sequence, Hash: receipt.Hash.String(), KeepsConsent: receipt.KeepsConsent,
	}
	if erasure.MustNotify(receipt.Reason, partner) {
		v.Erasure.Notify = v.Partner.Label
	}
	if receipt.KeepsConsent {
		v.Consent.Missing = "not sent"
	}
	if k.MayAt(web.EraseLeads, partner) || k.MayAt(web.VerifyAudit, partner) {
		v.Erasure.Note = receipt.Note
	}
	v.Contact.RevealURL = ""
	return nil
}
