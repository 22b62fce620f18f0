package requests

import (
	"io"
	"net/http"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/csvcell"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/requests"
	"github.com/pingpost/pingpost/templates/ui"
)

// request returns the request with the id in the URL.
func (h *Handlers) request(k *web.Request) (r requests.Request, err error) {
	object, err := k.PathID("id", id.PrivacyRequest)
	if err != nil {
		return r, err
	}
	r, err = h.Requests.Request(k.R.Context(), object)
	return r, web.OrNotFound(err)
}

func (h *Handlers) page(k *web.Request) error {
	r, err := h.request(k)
	if err != nil {
		return err
	}
	return h.showPage(k, http.StatusOK, r, nil)
}

func (h *Handlers) showPage(k *web.Request, status int, r requests.Request, mistakes ui.Errors) (err error) {
	v := view.RequestView{
		Shell:          k.Shell("Privacy request", allRequests),
		URL:            web.RequestURL(r.ID),
		ID:             requests.ID(r.ID),
		State:          state(k, r),
		Kind:           ui.Sentence(kindLabels[r.Kind]),
		KindCode:       string(r.Kind),
		Law:            requests.Laws.Label(r.Law),
		Guidance:       guidance[r.Kind],
		Access:         r.Kind == models.RequestAccess,
		Erasable:       requests.MayErase(r.Kind),
		Open:           r.Outcome == nil,
		NoticesDue:     r.ToNotify > 0,
		Reference:      k.Erasable(r.Reference),
		Received:       r.ReceivedOn,
		Due:            r.DueOn,
		Extended:       web.TimeOf(r.ExtendedAt),
		ExtendedReason: k.Erasable(r.ExtensionReason),
		CreatedBy:      r.CreatedBy,
		CreatedAt:      r.CreatedAt,
		OutcomeNote:    k.Erasable(r.OutcomeNote),
		ClosedAt:       web.TimeOf(r.ClosedAt),
		Found: view.Found{
			Leads: r.Leads, Partners: r.Partners, Erased: r.Erased, Differ: r.Differ, AlreadyErased: r.AlreadyErased(), CSV: web.RequestURL(r.ID) + "/leads.csv",
		},
		MayWrite:  k.May(web.WriteRequests),
		CanExtend: canExtend(k, r),
		Errors:    mistakes,
	}
	if r.Identity != nil {
		v.Identity = view.Identity{
			Label: ui.Sentence(requests.IdentityChecks.Label(*r.Identity)), Note: k.Erasable(r.IdentityNote), By: *r.IdentityBy, At: web.TimeOf(r.IdentityAt),
		}
	}
	if r.ClosedBy != nil {
		v.ClosedBy = *r.ClosedBy
	}
	if r.Ground != nil {
		v.Ground = ui.Sentence(requests.RejectionGroundLabel(r.PrivacyRequest))
	}
	if r.FileID != nil && v.MayWrite {
		v.ExportURL = v.URL + "/export.zip"
	}
	if v.Open && v.MayWrite && r.Own == 0 {
		v.Found.AddURL = v.URL + "/add"
		if r.Leads > 0 {
			v.Found.RemoveURL = v.URL + "/remove"
		}
	}
	var held []uuid.UUID
	if v.Open {
		var err error
		if held, err = h.Requests.HeldLeads(k.R.Context(), r.ID); err != nil {
			return err
		}
	}
	v.Found.Held = len(held)
	if err := apperr.As(h.Requests.By(k.By).CheckAnswer(r)); err != nil && (v.Access || v.Erasable) {
		v.Blocked = err.Message
	} else if v.Erasable && len(held) > 0 && len(held) == r.Left() {
		v.Blocked = "All remaining leads are under a legal hold. They can be erased when it has been released."
	}
	if err := h.addHolds(k, held, &v); err != nil {
		return err
	}
	if v.Letters, err = h.letters(k, r); err != nil {
		return err
	}
	if v.Notices, err = h.notices(k, r); err != nil {
		return err
	}
	if err := h.addLeads(k, r, &v); err != nil {
		return err
	}
	return k.Show(status, view.Request(v))
}

// canExtend reports whether the deadline of a request can be extended.
func canExtend(k *web.Request, r requests.Request) bool {
	if r.Outcome != nil || r.Kind == models.RequestComplaint {
		return r.Outcome == nil
	}
	_, ok := requests.ExtendedDeadline(r.Law, r.Kind, r.ReceivedOn)
	return ok && r.ExtendedAt == nil && !r.Overdue(k.Now)
}

// shownLeads is the maximum number of leads that the page of a request lists.
const shownLeads = 50

// addLeads adds the leads that were found.
func (h *Handlers) addLeads(k *web.Request, r requests.Request, v *view.RequestView) error {
	rows, err := h.Requests.Leads(k.R.Context(), r.ID, shownLeads)
	if err != nil {
		return err
	}
	var partners []uuid.UUID
	for _, l := range rows {
		partners = append(partners, l.PartnerID)
	}
	names, err := k.NamesOfPartners(partners)
	if err != nil {
		return err
	}
	for _, l := range rows {
		row := view.FoundLead{
			Lead: leadLink(k, l.LeadID, l.PartnerID), Partner: names.Of(l.PartnerID), Email: l.EmailNumber, Phone: l.PhoneNumber,
			Match: ui.Option{Value: string(l.Matched), Label: matchLabels[l.Matched]},
		}
		if l.Exception != models.ExceptionNone {
			row.Exception = ui.Sentence(requests.LeadExceptions.Label(l.Exception)) + "."
			if l.ExceptionNote != "" {
				row.Exception += " " + k.Erasable(l.ExceptionNote)
			}
		}
		v.Found.Rows = append(v.Found.Rows, row)
	}
	return nil
}

var matchLabels = map[models.LeadMatch]string{
	models.MatchEmail: "email address",
	models.MatchPhone: "phone number",
	models.MatchBoth:  "email address and phone number",
	models.MatchID:    "lead ID",
}

// leadLink links to the page of a lead, if the user may see it.
func leadLink(k *web.Request, lead, partner uuid.UUID) ui.Link {
	link := ui.Link{Label: k.Erasable(id.Format(id.Lead, lead))}
	if k.MayAt(web.ReadLeads, partner) && k.CheckErasable() == nil {
		link.URL = web.LeadURL(lead)
	}
	return link
}

// addHolds adds the legal holds for the first shownLeads of the leads that are under one.
func (h *Handlers) addHolds(k *web.Request, held []uuid.UUID, v *view.RequestView) error {
	if len(held) == 0 {
		return nil
	}
	holds, err := h.Erasures.HoldsOver(k.R.Context(), held[:min(len(held), shownLeads)])
	if err != nil {
		return err
	}
	var partners []uuid.UUID
	for _, l := range holds {
		partners = append(partners, l.Partner)
	}
	names, err := k.NamesOfPartners(partners)
	if err != nil {
		return err
	}
	for _, l := range holds {
		v.Found.Holds = append(v.Found.Holds, view.HeldLead{
			Lead: leadLink(k, l.Lead, l.Partner), Partner: names.Of(l.Partner), Reason: l.Reason, By: l.PlacedBy, At: l.PlacedAt,
		})
	}
	return nil
}

// leadsCSV sends the ids of the leads of a request, each with its partner and whether this request erased it.
func (h *Handlers) leadsCSV(k *web.Request) error {
	r, err := h.request(k)
	if err != nil {
		return err
	}
	all, err := h.Requests.Leads(k.R.Context(), r.ID, r.Leads)
	if err != nil {
		return err
	}
	var partners []uuid.UUID
	for _, l := range all {
		partners = append(partners, l.PartnerID)
	}
	names, err := k.NamesOfPartners(partners)
	if err != nil {
		return err
	}
	return k.SendCSV(requests.ID(r.ID), func(to io.Writer) error {
		w, err := csvcell.NewWriter(to, []string{"lead_id", "partner", "erased"})
		if err != nil {
			return err
		}
		for _, l := range all {
			erased := "no"
			if l.Erased {
				erased = "yes"
			}
			if err := w.Write([]string{id.Format(id.Lead, l.LeadID), names.Of(l.PartnerID), erased}); err != nil {
				return err
			}
		}
		return w.Flush()
	})
}
