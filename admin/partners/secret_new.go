package partners

import (
	"net/http"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

// secretForm contains what the forms for new and rotated secrets share.
func (h *Handlers) secretForm(k *web.Request, p models.Partner, title, path string) (view.SecretFormView, error) {
	head, err := h.head(k, p, "secrets")
	return view.SecretFormView{
		Head: head,
		Shell: k.Shell(title, allPartners, ui.Link{Label: p.Name, URL: head.URL}, ui.Link{
			Label: "Secrets",
			URL:   head.URL + "?tab=secrets",
		}),
		Action: head.URL + path,
		Cancel: h.returnPath(k, head.URL, head.URL+"?tab=secrets"),
		Return: h.returnPath(k, head.URL, ""),
		StepUp: k.StepUp(),
	}, err
}

// secretRejected shows a form again with its errors and the label, but without the secret.
func (h *Handlers) secretRejected(k *web.Request, v view.SecretFormView, r web.Rejected) error {
	v.Label, v.Errors = web.Short(k.R.PostForm.Get("label")), r.Errors
	return k.Show(r.Status, view.SecretForm(v))
}

func (h *Handlers) newSecretForm(k *web.Request, p models.Partner) (view.SecretFormView, error) {
	return h.secretForm(k, p, "New secret", "/secrets/new")
}

func (h *Handlers) newSecretPage(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	v, err := h.newSecretForm(k, p)
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.SecretForm(v))
}

// createSecret creates or imports a secret. A new secret is shown once, an imported one is not shown.
func (h *Handlers) createSecret(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	label, imported := k.R.PostForm.Get("label"), k.R.PostForm.Get("import")
	return k.Submit(web.Form{
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			if imported != "" {
				_, err := h.partners(k).ImportSecret(k.R.Context(), k.Scope, p, label, imported)
				return web.PartnerURL(p.ID) + "?tab=secrets", err
			}
			created, err := h.partners(k).CreateSecret(k.R.Context(), k.Scope, p, label)
			if err != nil {
				return "", err
			}
			return "", h.showCreated(k, p, created, time.Time{})
		},
		Show: func(r web.Rejected) error {
			v, err := h.newSecretForm(k, p)
			if err != nil {
				return err
			}
			return h.secretRejected(k, v, r)
		},
	})
}

// showCreated shows a new secret. After a rotation, older secrets expire at the given time.
func (h *Handlers) showCreated(
	k *web.Request, p models.Partner, created partners.CreatedSecret, olderExpire time.Time,
) error {
	url := web.PartnerURL(p.ID)
	v := view.SecretCreatedView{
		Shell:       k.Shell("New signing secret", allPartners, ui.Link{Label: p.Name, URL: url}),
		PartnerName: p.Name,
		Label:       created.Label,
		Secret:      created.Plain,
		BaseURL:     h.baseURL(k, p),
		NextLabel:   "Done",
		NextURL:     url + "?tab=secrets",
		Ends:        olderExpire,
	}
	link, found, err := h.Partners.Link(k.R.Context(), k.Scope, p)
	if err != nil {
		return err
	}
	if found {
		v.LinkCreated = link.CreatedAt
	}
	if s, err := h.progress(k, p); err == nil && !s.signed.Any {
		v.NextLabel, v.NextURL = "Continue onboarding", url+"/onboarding"
	}
	return k.ShowSecret(http.StatusOK, view.SecretCreated(v))
}
