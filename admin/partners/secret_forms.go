package partners

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) secretForm(k *web.Request, p models.Partner, rotate bool) (view.SecretFormView, error) {
	head, err := h.head(k, p, "secrets")
	title, path := "New secret", "/secrets/new"
	if rotate {
		title, path = "Rotate the secret", "/secrets/rotate"
	}
	return view.SecretFormView{
		Head: head, Shell: k.Shell(title, allPartners, ui.Link{Label: p.Name, URL: head.URL}, ui.Link{Label: "Secrets", URL: head.URL + "?tab=secrets"}),
		Action: head.URL + path, Cancel: head.URL + "?tab=secrets", Rotate: rotate, Overlaps: h.overlapOptions(k, "24h"), StepUp: web.StepUp(k),
	}, err
}

func (h *Handlers) secretNewPage(k *web.Request) error { return h.secretPage(k, false) }

func (h *Handlers) secretRotatePage(k *web.Request) error { return h.secretPage(k, true) }

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
		if v.Underway, err = h.underway(k, p); err != nil {
			return err
		}
	}
	return k.Show(http.StatusOK, view.SecretForm(v))
}

// underway says why a rotation would have to be forced.
func (h *Handlers) underway(k *web.Request, p models.Partner) (string, error) {
	secrets, err := h.Partners.Secrets(k.R.Context(), p)
	for _, s := range secrets {
		if partners.StateOf(s, k.Now) == partners.StateRetiring {
			return "A rotation is under way: “" + s.Label + "” (…" + s.LastFour + ") retires at " + web.Minute(*s.RetiresAt) + ". Forced, it and the others end by the new overlap.", err
		}
	}
	return "", err
}

func (h *Handlers) secretNew(k *web.Request) error {
	return h.makeSecret(k, false, func(p models.Partner) (partners.Created, error) {
		f := k.R.PostForm
		if f.Get("import") != "" {
			return h.partners(k).ImportSecret(k.R.Context(), p, f.Get("label"), f.Get("import"))
		}
		return h.partners(k).CreateSecret(k.R.Context(), p, f.Get("label"))
	})
}

func (h *Handlers) secretRotate(k *web.Request) error {
	return h.makeSecret(k, true, func(p models.Partner) (partners.Created, error) {
		f := k.R.PostForm
		length, _ := overlapOf(f.Get("overlap"))
		return h.partners(k).RotateSecret(k.R.Context(), p, f.Get("label"), length, f.Get("force") == "yes")
	})
}

// makeSecret shows what it made, this once.
func (h *Handlers) makeSecret(k *web.Request, rotate bool, do func(models.Partner) (partners.Created, error)) error {
	p, err := h.formOf(k)
	if err != nil {
		return err
	}
	var mistakes ui.Errors
	if _, known := overlapOf(k.R.PostForm.Get("overlap")); rotate && !known {
		mistakes = append(mistakes, errOverlapChoice)
	}
	return web.Submit(k, web.Form{
		Mistakes: mistakes,
		StepUp:   web.StepUpRequired,
		Do: func() (string, error) {
			made, err := do(p)
			if err != nil || k.R.PostForm.Get("import") != "" { // whoever typed it has it
				return web.PartnerURL(p.ID) + "?tab=secrets", err
			}
			return "", h.showMade(k, p, made, rotate)
		},
		Show: func(r web.Rejected) error { return h.secretRefused(k, r.Status, p, rotate, r.Errors) },
	})
}

// secretRefused shows the form again: with what was typed, save a secret.
func (h *Handlers) secretRefused(k *web.Request, status int, p models.Partner, rotate bool, mistakes ui.Errors) error {
	v, err := h.secretForm(k, p, rotate)
	if err != nil {
		return err
	}
	v.Label, v.Errors = web.Short(k.R.PostForm.Get("label")), mistakes
	if rotate {
		v.Overlaps = h.overlapOptions(k, k.R.PostForm.Get("overlap"))
		if v.Underway, err = h.underway(k, p); err != nil {
			return err
		}
	}
	return k.Show(status, view.SecretForm(v))
}

func (h *Handlers) showMade(k *web.Request, p models.Partner, made partners.Created, rotated bool) error {
	url := web.PartnerURL(p.ID)
	v := view.SecretMadeView{
		Shell: k.Shell("The new secret", allPartners, ui.Link{Label: p.Name, URL: url}), PartnerName: p.Name, Label: made.Label, Secret: made.Plain, BaseURL: h.baseURL(k, p),
		NextLabel: "Done: to the secrets", NextURL: url + "?tab=secrets",
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
	if s, err := h.progress(k, p); err == nil && !s.sells() {
		v.NextLabel, v.NextURL = "Done: go on bringing the partner on", url+"/onboarding"
	}
	return k.ShowSecret(http.StatusOK, view.SecretMade(v))
}

// secretOf is which secret of the partner the address names.
func (h *Handlers) secretOf(k *web.Request, p models.Partner) (models.SigningSecret, error) {
	s, err := h.Partners.FindSecret(k.R.Context(), p, k.R.PathValue("secret"))
	return s, web.OrNotFound(err)
}

// partnerAndSecret are those that the address names.
func (h *Handlers) partnerAndSecret(k *web.Request) (p models.Partner, s models.SigningSecret, err error) {
	if p, err = h.partner(k); err == nil {
		s, err = h.secretOf(k, p)
	}
	return p, s, err
}

func (h *Handlers) retirePage(k *web.Request) error {
	p, s, err := h.partnerAndSecret(k)
	if err != nil {
		return err
	}
	return h.showRetire(k, http.StatusOK, p, s, "24h", nil)
}

func (h *Handlers) showRetire(k *web.Request, status int, p models.Partner, s models.SigningSecret, when string, mistakes ui.Errors) error {
	last, err := h.Partners.LastActive(k.R.Context(), p, s.ID)
	if err != nil {
		return err
	}
	url := web.PartnerURL(p.ID)
	v := view.RetireFormView{
		Shell:  k.Shell("When “"+s.Label+"” ends", allPartners, ui.Link{Label: p.Name, URL: url}, ui.Link{Label: "Secrets", URL: url + "?tab=secrets"}),
		Action: url + "/secrets/" + id.Format(id.Secret, s.ID) + "/retire", Cancel: url + "?tab=secrets", Label: s.Label, Whens: h.overlapOptions(k, when), Last: last, StepUp: web.StepUp(k), Errors: mistakes,
	}
	if s.RetiresAt != nil {
		v.Ends = *s.RetiresAt
	}
	return k.Show(status, view.RetireForm(v))
}

func (h *Handlers) retire(k *web.Request) error {
	if err := k.ParseForm(); err != nil {
		return err
	}
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
	return web.Submit(k, web.Form{
		Mistakes: mistakes,
		StepUp:   web.StepUpRequired,
		Do: func() (string, error) {
			return web.PartnerURL(p.ID) + "?tab=secrets", h.partners(k).RetireSecret(k.R.Context(), p, s.ID, k.Now.Add(length))
		},
		Show: func(r web.Rejected) error { return h.showRetire(k, r.Status, p, s, when, r.Errors) },
	})
}

func (h *Handlers) revokeView(k *web.Request, p models.Partner, s models.SigningSecret, mistakes ui.Errors) (*ui.ConfirmView, error) {
	last, err := h.Partners.LastActive(k.R.Context(), p, s.ID)
	url := web.PartnerURL(p.ID)
	v := &ui.ConfirmView{
		Shell:  k.Shell("Revoke “"+s.Label+"”", allPartners, ui.Link{Label: p.Name, URL: url}, ui.Link{Label: "Secrets", URL: url + "?tab=secrets"}),
		Prefix: "revoke", Action: url + "/secrets/" + id.Format(id.Secret, s.ID) + "/revoke", Submit: "Revoke", Cancel: url + "?tab=secrets",
		Consequence: "Within a second posts signed with it are refused, on every node. This cannot be undone: the partner needs another secret.",
		TypeName:    p.Slug, StepUp: web.StepUp(k), Name: web.Short(k.R.PostForm.Get("name")), Errors: mistakes,
	}
	if last {
		v.Warning = "It is the last valid secret of this partner: after it, every signed post of theirs is refused."
	}
	return v, err
}

func (h *Handlers) revokePage(k *web.Request) error {
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

func (h *Handlers) revoke(k *web.Request) error {
	if err := k.ParseForm(); err != nil {
		return err
	}
	p, s, err := h.partnerAndSecret(k)
	if err != nil {
		return err
	}
	return web.Submit(k, web.Form{
		Mistakes: web.CheckTypedName(k, p.Slug),
		StepUp:   web.StepUpRequired,
		Do: func() (string, error) {
			return web.PartnerURL(p.ID) + "?tab=secrets", h.partners(k).RevokeSecret(k.R.Context(), p, s.ID)
		},
		Show: func(r web.Rejected) error { return h.showRevoke(k, r.Status, p, s, r.Errors) },
	})
}
