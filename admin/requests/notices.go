package requests

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/requests"
	"github.com/pingpost/pingpost/templates/ui"
)

// notices returns the partners to notify of an erasure, and those whose notices are recorded. A partner's
// contacts are shown while its notice is due.
func (h *Handlers) notices(k *web.Request, r requests.Request) (all []view.Notice, err error) {
	if !r.HasErased() {
		return nil, nil
	}
	found, err := h.Requests.Notices(k.R.Context(), r.ID)
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(found))
	for i, n := range found {
		ids[i] = n.Partner
	}
	records, err := h.Partners.ByIDs(k.R.Context(), k.Scope, ids)
	if err != nil {
		return nil, err
	}
	for _, n := range found {
		partner := records[n.Partner]
		v := view.Notice{
			Partner: k.PartnerLink(n.Partner, partner.Slug), ID: id.Format(id.Partner, n.Partner), Leads: n.Leads,
			By: n.NotifiedBy, At: n.NotifiedAt, Reason: ui.Sentence(requests.NoNoticeReasons.Label(n.Reason)), Note: k.Erasable(n.Note),
		}
		if n.NotifiedAt.IsZero() && k.May(web.PartnerContacts) {
			v.Name = partner.Name
			for _, c := range partners.Contacts(partner) {
				v.Contacts = append(v.Contacts, view.Contact(c))
			}
		}
		all = append(all, v)
	}
	return all, nil
}

// recordNotice records that a partner was notified of an erasure.
func (h *Handlers) recordNotice(k *web.Request) error {
	r, err := h.request(k)
	if err != nil {
		return err
	}
	partner, err := id.Parse(id.Partner, k.R.PostForm.Get("partner"))
	if err != nil {
		return web.ErrNotFound
	}
	return h.submitNotice(k, r, requests.NewNotice{Partner: partner}, func(rejected web.Rejected) error {
		return h.showPage(k, rejected.Status, r, rejected.Errors)
	})
}

func (h *Handlers) submitNotice(
	k *web.Request, r requests.Request, n requests.NewNotice, show func(web.Rejected) error,
) error {
	return k.Submit(web.Form{
		Do: func() (string, error) {
			return web.RequestURL(r.ID) + "#notices", web.OrNotFound(h.Requests.By(k.By).RecordNotice(k.R.Context(), r.ID, n))
		},
		Show: show,
	})
}

func (h *Handlers) noNoticePage(k *web.Request) error {
	r, err := h.request(k)
	if err != nil {
		return err
	}
	return h.showNoNotice(k, r, web.Rejected{Status: http.StatusOK})
}

// noNotice records why a partner is not notified of an erasure.
func (h *Handlers) noNotice(k *web.Request) error {
	r, err := h.request(k)
	if err != nil {
		return err
	}
	partner, err := k.PathID("partner", id.Partner)
	if err != nil {
		return err
	}
	f := k.R.PostForm
	n := requests.NewNotice{Partner: partner, Reason: models.NoNoticeReason(f.Get("reason")), Note: f.Get("note")}
	show := func(rejected web.Rejected) error { return h.showNoNotice(k, r, rejected) }
	if n.Reason == "" {
		return show(web.Rejected{
			Status: http.StatusUnprocessableEntity, Errors: ui.Errors{{Field: "reason", Message: "Choose a reason."}},
		})
	}
	return h.submitNotice(k, r, n, show)
}

func (h *Handlers) showNoNotice(k *web.Request, r requests.Request, shown web.Rejected) error {
	partner, err := k.PathID("partner", id.Partner)
	if err != nil {
		return err
	}
	all, err := h.Requests.Notices(k.R.Context(), r.ID)
	if err != nil {
		return err
	}
	names, err := k.NamesOfPartners([]uuid.UUID{partner})
	if err != nil {
		return err
	}
	for _, n := range all {
		if n.Partner != partner {
			continue
		}
		if !r.HasErased() || !n.NotifiedAt.IsZero() {
			return k.Redirect(web.RequestURL(r.ID))
		}
		v := h.stepView(k, r, "notices/"+id.Format(id.Partner, partner), "Record reason", shown)
		v.Partner, v.GDPR, v.Text = names.Of(partner), r.Law != models.LawCCPA, k.R.PostForm.Get("note")
		for _, reason := range requests.NoNoticeReasons {
			v.Options = append(v.Options, web.ReasonOption(string(reason.Code), reason.Label))
		}
		v.Options = web.SelectOption(v.Options, k.R.PostForm.Get("reason"))
		return k.Show(shown.Status, view.NoNotice(v))
	}
	return web.ErrNotFound
}
