package partners

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) revokeView(
	k *web.Request, p models.Partner, s models.SigningSecret, mistakes ui.Errors,
) (*ui.ConfirmView, error) {
	last, err := h.Partners.LastActive(k.R.Context(), k.Scope, p, s.ID)
	url := web.PartnerURL(p.ID)
	v := &ui.ConfirmView{
		Shell: k.Shell("Revoke “"+s.Label+"”", allPartners, ui.Link{Label: p.Name, URL: url}, ui.Link{
			Label: "Secrets",
			URL:   url + "?tab=secrets",
		}),
		Prefix:      "revoke",
		Action:      url + "/secrets/" + id.Format(id.Secret, s.ID) + "/revoke",
		Submit:      "Revoke secret",
		Cancel:      url + "?tab=secrets",
		Consequence: "Posts signed with this secret will be rejected. This takes effect within a second and cannot be undone. The partner will need a new secret.",
		TypeName:    p.Slug,
		StepUp:      web.StepUp(k),
		Name:        web.Short(k.R.PostForm.Get("name")),
		Errors:      mistakes,
	}
	if last {
		v.Warning = "This is the partner's only valid secret. All its signed posts will be rejected."
	}
	return v, err
}

func (h *Handlers) revokeSecretPage(k *web.Request) error {
	p, s, err := h.partnerAndSecret(k)
	if err != nil {
		return err
	}
	return h.showRevoke(k, http.StatusOK, p, s, nil)
}

func (h *Handlers) showRevoke(k *web.Request, status int, p models.Partner, s models.SigningSecret, mistakes ui.Errors) error {
	v, err := h.revokeView(k, p, s, mistakes)
	if err != nil {
		return err
	}
	return k.Show(status, ui.Confirm(*v))
}

func (h *Handlers) revokeSecret(k *web.Request) error {
	p, s, err := h.partnerAndSecret(k)
	if err != nil {
		return err
	}
	return web.Submit(k, web.Form{
		Errors: web.CheckTypedName(k, p.Slug),
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			return web.PartnerURL(p.ID) + "?tab=secrets", h.partners(k).RevokeSecret(k.R.Context(), k.Scope, p, s.ID)
		},
		Show: func(r web.Rejected) error { return h.showRevoke(k, r.Status, p, s, r.Errors) },
	})
}
