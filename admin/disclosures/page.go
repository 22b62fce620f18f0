package disclosures

import (
	"encoding/hex"
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/consents"
	view "github.com/pingpost/pingpost/templates/disclosures"
	"github.com/pingpost/pingpost/templates/ui"
)

// shownLeads is the maximum number of leads that the page of a text lists.
const shownLeads = 100

// disclosure returns the text with the id in the URL.
func (h *Handlers) disclosure(k *web.Request) (d consents.Disclosure, err error) {
	object, err := k.PathID("id", id.Disclosure)
	if err != nil {
		return d, err
	}
	d, err = h.Consents.Disclosure(k.R.Context(), k.Scope, object)
	return d, web.OrNotFound(err)
}

func (h *Handlers) page(k *web.Request) error {
	d, err := h.disclosure(k)
	if err != nil {
		return err
	}
	leads, err := h.Consents.DisclosureLeads(k.R.Context(), k.Scope, d, shownLeads)
	if err != nil {
		return err
	}
	v := view.PageView{
		Shell:   k.Shell("Disclosure text", allTexts),
		Facts:   facts(k, d),
		Text:    k.Erasable(d.Text),
		Digest:  k.Erasable(hex.EncodeToString(d.Digest)),
		Limited: !k.Scope.All(),
		More:    d.MoreLeads || d.Leads > shownLeads,
	}
	if k.MayForAllPartners(web.ReplaceDisclosures) {
		v.ReplaceURL = web.DisclosureURL(d.ID) + "/replace"
	}
	for _, l := range leads {
		link := ui.Link{Label: id.Format(id.Lead, l.LeadID)}
		if k.MayAt(web.ReadLeads, l.PartnerID) {
			link.URL = web.LeadURL(l.LeadID)
		}
		v.Leads = append(v.Leads, view.Lead{Lead: link, Partner: k.PartnerLink(l.PartnerID, l.PartnerName)})
	}
	return k.Show(http.StatusOK, view.Page(v))
}
