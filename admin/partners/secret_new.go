package partners

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) secretForm(k *web.Request, p models.Partner, rotate bool) (view.SecretFormView, error) {
	head, err := h.head(k, p, "secrets")
	title, path := "New secret", "/secrets/new"
	if rotate {
		title, path = "Rotate secret", "/secrets/rotate"
	}
	return view.SecretFormView{
		Head: head,
		Shell: k.Shell(title, allPartners, ui.Link{Label: p.Name, URL: head.URL}, ui.Link{
			Label: "Secrets",
			URL:   head.URL + "?tab=secrets",
		}),
		Action:   head.URL + path,
		Cancel:   h.returnPath(k, head.URL, head.URL+"?tab=secrets"),
		Return:   h.returnPath(k, head.URL, ""),
		Rotate:   rotate,
		Overlaps: h.overlapOptions(k, "24h"),
		StepUp:   k.StepUp(),
	}, err
}

func (h *Handlers) secretNewPage(k *web.Request) error { return h.secretPage(k, false) }

func (h *Handlers) secretPage(k *web.Request, rotate bool) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	v, err := h.secretForm(k, p, rotate)
	if err != nil {
		return err
	}
	if rotate {
		if v.Underway, err = h.rotationWarning(k, p); err != nil {
			return err
		}
	}
	return k.Show(http.StatusOK, view.SecretForm(v))
}

// rotationWarning returns a warning if another rotation of the partner's secrets is in progress.
func (h *Handlers) rotationWarning(k *web.Request, p models.Partner) (string, error) {
	secrets, err := h.Partners.Secrets(k.R.Context(), k.Scope, p)
	for _, s := range secrets {
		if partners.StateOf(s, k.Now) == partners.StateExpiring {
			return "A rotation is in progress: “" + s.Label + "” (…" + s.LastFour + ") expires at " +
				ui.Minute(*s.ExpiresAt) + ". If you rotate anyway, all older secrets expire no later than the time that you choose.", err
		}
	}
	return "", err
}

func (h *Handlers) createSecret(k *web.Request) error {
	return h.submitSecret(k, false, func(p models.Partner) (partners.CreatedSecret, error) {
		f := k.R.PostForm
		if f.Get("import") != "" {
			return h.partners(k).ImportSecret(k.R.Context(), k.Scope, p, f.Get("label"), f.Get("import"))
		}
		return h.partners(k).CreateSecret(k.R.Context(), k.Scope, p, f.Get("label"))
	})
}

// submitSecret handles a form that creates, imports or rotates a secret. It calls the function do, and
// then shows the new secret once. An imported secret is not shown.
func (h *Handlers) submitSecret(
	k *web.Request, rotate bool, do func(models.Partner) (partners.CreatedSecret, error),
) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	var mistakes ui.Errors
	if _, known := overlapOf(k.R.PostForm.Get("overlap")); rotate && !known {
		mistakes = append(mistakes, errOverlapChoice)
	}
	return k.Submit(web.Form{
		Errors: mistakes,
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			made, err := do(p)
			if err != nil || k.R.PostForm.Get("import") != "" { // imported secrets are not shown
				return web.PartnerURL(p.ID) + "?tab=secrets", err
			}
			return "", h.showCreated(k, p, made, rotate)
		},
		Show: func(r web.Rejected) error { return h.secretRejected(k, r.Status, p, rotate, r.Errors) },
	})
}

// secretRejected shows the form again with the values that were entered, except the secret.
func (h *Handlers) secretRejected(k *web.Request, status int, p models.Partner, rotate bool, mistakes ui.Errors) error {
	v, err := h.secretForm(k, p, rotate)
	if err != nil {
		return err
	}
	v.Label, v.Errors = web.Short(k.R.PostForm.Get("label")), mistakes
	if rotate {
		v.Overlaps = h.overlapOptions(k, k.R.PostForm.Get("overlap"))
		if v.Underway, err = h.rotationWarning(k, p); err != nil {
			return err
		}
	}
	return k.Show(status, view.SecretForm(v))
}

func (h *Handlers) showCreated(k *web.Request, p models.Partner, made partners.CreatedSecret, rotated bool) error {
	url := web.PartnerURL(p.ID)
	v := view.SecretCreatedView{
		Shell:       k.Shell("New signing secret", allPartners, ui.Link{Label: p.Name, URL: url}),
		PartnerName: p.Name,
		Label:       made.Label,
		Secret:      made.Plain,
		BaseURL:     h.baseURL(k, p),
		NextLabel:   "Done",
		NextURL:     url + "?tab=secrets",
	}
	if length, _ := overlapOf(k.R.PostForm.Get("overlap")); rotated {
		v.Ends = made.CreatedAt.Add(length)
	}
	link, there, err := h.Partners.Link(k.R.Context(), k.Scope, p)
	if err != nil {
		return err
	}
	if there {
		v.LinkCreated = link.CreatedAt
	}
	if s, err := h.progress(k, p); err == nil && !s.signed.Any {
		v.NextLabel, v.NextURL = "Continue onboarding", url+"/onboarding"
	}
	return k.ShowSecret(http.StatusOK, view.SecretCreated(v))
}
