package leads

import (
	"io"
	"net/http"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/evidence"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/leads"
	"github.com/pingpost/pingpost/templates/ui"
)

// evidenceRequest is the lead in the path, and the return that the pack is about.
type evidenceRequest struct {
	lead     leads.Details
	disputed string    // the return's id, or ""
	object   uuid.UUID // the same id, or uuid.Nil
}

func (h *Handlers) evidenceRequest(k *web.Request) (r evidenceRequest, err error) {
	lead, err := k.PathID("id", id.Lead)
	if err != nil {
		return r, err
	}
	if r.disputed = k.R.FormValue("return"); r.disputed != "" {
		if r.object, err = id.Parse(id.Return, r.disputed); err != nil {
			return r, web.ErrNotFound
		}
	}
	r.lead, err = h.Leads.Get(k.R.Context(), k.Scope, lead)
	return r, web.OrNotFound(err)
}

// evidencePage shows the form that downloads an evidence pack.
func (h *Handlers) evidencePage(k *web.Request) error {
	r, err := h.evidenceRequest(k)
	if err != nil {
		return err
	}
	return h.showEvidence(k, http.StatusOK, r, web.Rejected{})
}

// evidence responds with an evidence pack.
func (h *Handlers) evidence(k *web.Request) error {
	r, err := h.evidenceRequest(k)
	if err != nil {
		return err
	}
	contact := k.R.PostForm.Get("contact") != ""
	if contact && !k.MayAt(web.RevealLeads, r.lead.PartnerID) {
		return web.ErrForbidden
	}
	return k.Submit(web.Form{
		StepUp: web.StepUpWhen(contact),
		Do: func() (string, error) {
			content, err := h.Evidence.By(k.By).Create(k.R.Context(), k.Scope, evidence.Request{
				Lead: r.lead.ID, Return: r.object, Amounts: k.MayAt(web.ReadPayouts, r.lead.PartnerID), Contact: contact,
				Events: k.EventReader(),
			})
			if err != nil {
				return "", web.OrNotFound(err)
			}
			return "", k.SendZIP("evidence-"+id.Format(id.Lead, r.lead.ID), func(to io.Writer) error {
				_, err := to.Write(content)
				return err
			})
		},
		KeepAfterFailure: true,
		Show:             func(rejected web.Rejected) error { return h.showEvidence(k, rejected.Status, r, rejected) },
	})
}

func (h *Handlers) showEvidence(k *web.Request, status int, r evidenceRequest, rejected web.Rejected) error {
	url := web.LeadURL(r.lead.ID)
	v := view.EvidenceView{
		Shell:   k.Shell("Download evidence", allLeads, leadLink(r.lead.ID)),
		Action:  url + "/evidence",
		Cancel:  url,
		Return:  r.disputed,
		Amounts: k.MayAt(web.ReadPayouts, r.lead.PartnerID),
		StepUp:  rejected.StepUp,
		Errors:  rejected.Errors,
	}
	if r.disputed != "" {
		v.Cancel = "/payouts/returns/" + r.disputed
	}
	if r.lead.State != models.LeadErased && k.MayAt(web.RevealLeads, r.lead.PartnerID) {
		fields, err := h.Reveals.By(k.By).RecentlyRevealed(k.R.Context(), r.lead.ID)
		if err != nil {
			return err
		}
		for _, f := range fields {
			v.Fields = append(v.Fields, reveal.Fields.Label(f))
		}
	}
	v.Contact = ui.Option{Value: "yes", Label: "Include contact data", Selected: k.R.PostForm.Get("contact") != ""}
	return k.Show(status, view.Evidence(v))
}
