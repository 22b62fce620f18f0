package partners

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) expireSecretPage(k *web.Request) error {
	p, s, err := h.partnerAndSecret(k)
	if err != nil {
		return err
	}
	return h.showExpire(k, http.StatusOK, p, s, "24h", nil)
}

func (h *Handlers) showExpire(
	k *web.Request, status int, p models.Partner, s models.SigningSecret, when string, mistakes ui.Errors,
) error {
	last, err := h.Partners.LastActive(k.R.Context(), k.Scope, p, s.ID)
	if err != nil {
		return err
	}
	url := web.PartnerURL(p.ID)
	v := view.ExpireFormView{
		Shell: k.Shell("Set expiry for “"+s.Label+"”", allPartners, ui.Link{Label: p.Name, URL: url}, ui.Link{
			Label: "Secrets",
			URL:   url + "?tab=secrets",
		}),
		Action:   url + "/secrets/" + id.Format(id.Secret, s.ID) + "/expire",
		Cancel:   url + "?tab=secrets",
		Label:    s.Label,
		EndTimes: h.overlapOptions(k, when),
		Last:     last,
		StepUp:   k.StepUp(),
		Errors:   mistakes,
	}
	if s.ExpiresAt != nil {
		v.Ends = *s.ExpiresAt
	}
	return k.Show(status, view.ExpireForm(v))
}

func (h *Handlers) expireSecret(k *web.Request) error {
	p, s, err := h.partnerAndSecret(k)
	if err != nil {
		return err
	}
	var mistakes ui.Errors
	when := k.R.PostForm.Get("when")
	length, known := overlapOf(when)
	if !known {
		mistakes = append(mistakes, ui.FieldError{Field: "when", Message: errOverlapChoice.Message})
	}
	return k.Submit(web.Form{
		Errors: mistakes,
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			return web.PartnerURL(p.ID) + "?tab=secrets",
				h.partners(k).ExpireSecret(k.R.Context(), k.Scope, p, s.ID, k.Now.Add(length))
		},
		Show: func(r web.Rejected) error { return h.showExpire(k, r.Status, p, s, when, r.Errors) },
	})
}
