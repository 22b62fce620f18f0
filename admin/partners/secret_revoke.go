package partners

import (
	"net/http"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) revokeView(
	k *web.Request, p models.Partner, s models.SigningSecret, mistakes ui.Errors,
) (*ui.ConfirmView, error) {
	last, err := h.Partners.LastActive(k.R.Context(), k.Scope, p, s.ID)
	if err != nil {
		return nil, err
	}
	used, err := h.Reporting.LastUsed(k.R.Context(), k.Scope, p.ID)
	if err != nil {
		return nil, err
	}
	traffic, err := h.Reporting.Secrets(k.R.Context(), k.Scope, p.ID, reporting.LastSteps(k.Now, time.Hour, 24))
	if err != nil {
		return nil, err
	}
	posts := int64(0)
	for _, use := range traffic {
		if use.Secret == s.ID {
			posts += use.Posts
		}
	}
	lastUsed := "never"
	if at, ok := used[s.ID]; ok {
		lastUsed = ui.Minute(at) + " (" + ui.Ago(at, k.Now) + ")"
	}
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
		Consequence: "Posts signed with this secret will be rejected. This takes effect within a second and cannot be undone.",
		Facts: []ui.Fact{
			{Name: "Secret", Value: "“" + s.Label + "” (" + shownSecret(s) + ")"},
			{Name: "Last used", Value: lastUsed},
			{Name: "Accepted posts (24 h)", Value: ui.Number(posts)},
		},
		TypeName: p.Slug,
		StepUp:   k.StepUp(),
		Name:     web.Short(k.R.PostForm.Get("name")),
		Errors:   mistakes,
	}
	if last {
		v.Warning = "This is the partner's only valid secret. All its signed posts will be rejected. The partner will need a new secret."
	}
	return v, nil
}

func (h *Handlers) revokeSecretPage(k *web.Request) error {
	p, s, err := h.partnerAndSecret(k)
	if err != nil {
		return err
	}
	return h.showRevoke(k, http.StatusOK, p, s, nil)
}

func (h *Handlers) showRevoke(
	k *web.Request, status int, p models.Partner, s models.SigningSecret, mistakes ui.Errors,
) error {
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
	return k.Submit(web.Form{
		Errors: k.CheckTypedName(p.Slug),
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			return web.PartnerURL(p.ID) + "?tab=secrets", h.partners(k).RevokeSecret(k.R.Context(), k.Scope, p, s.ID)
		},
		Show: func(r web.Rejected) error { return h.showRevoke(k, r.Status, p, s, r.Errors) },
	})
}
