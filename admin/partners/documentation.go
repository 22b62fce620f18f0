package partners

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) documentationTab(k *web.Request, p models.Partner) error {
	head, err := h.head(k, p, "documentation")
	if err != nil {
		return err
	}
	v := view.PartnerDocumentationView{Head: head, CanWrite: head.CanWrite}
	link, there, err := h.Partners.Link(k.R.Context(), k.Scope, p)
	if err != nil {
		return err
	}
	if there {
		v.Created = link.CreatedAt
	}
	return k.Show(http.StatusOK, view.PartnerDocumentation(v))
}

func (h *Handlers) createLink(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	made, err := h.partners(k).NewLink(k.R.Context(), k.Scope, p)
	if err != nil {
		return err
	}
	url := web.PartnerURL(p.ID)
	v := view.LinkCreatedView{
		Shell:       k.Shell("New documentation link", allPartners, ui.Link{Label: p.Name, URL: url}),
		PartnerName: p.Name,
		Link:        h.PublicURL + "/partner/" + made.Token,
		NextLabel:   "Done",
		NextURL:     url + "?tab=documentation",
	}
	if to := h.returnPath(k, url, url); to != url {
		v.NextLabel, v.NextURL = "Continue onboarding", to
	}
	return k.ShowSecret(http.StatusOK, view.LinkCreated(v))
}

func (h *Handlers) revokeLink(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	if err := h.partners(k).RevokeLink(k.R.Context(), k.Scope, p); err != nil {
		return err
	}
	return k.Redirect(web.PartnerURL(p.ID) + "?tab=documentation")
}
