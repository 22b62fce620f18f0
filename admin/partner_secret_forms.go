package admin

import (
	"net/http"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

func (k *call) secretForm(p models.Partner, rotate bool) (templates.SecretFormView, error) {
	head, err := k.head(p, "secrets")
	title, path := "New secret", "/secrets/new"
	if rotate {
		title, path = "Rotate the secret", "/secrets/rotate"
	}
	return templates.SecretFormView{
		Head: head, Shell: k.shell(title, allPartners, templates.Link{Label: p.Name, URL: head.URL}, templates.Link{Label: "Secrets", URL: head.URL + "?tab=secrets"}),
		Action: head.URL + path, Cancel: head.URL + "?tab=secrets", Rotate: rotate, Overlaps: k.overlapOptions("24h"), StepUp: k.stepUp(),
	}, err
}

func (k *call) secretNewPage() error    { return k.secretPage(false) }
func (k *call) secretRotatePage() error { return k.secretPage(true) }

func (k *call) secretPage(rotate bool) error {
	p, err := k.partner()
	if err != nil {
		return err
	}
	v, err := k.secretForm(p, rotate)
	if err != nil {
		return err
	}
	if rotate {
		if v.Underway, err = k.underway(p); err != nil {
			return err
		}
	}
	return k.show(http.StatusOK, templates.SecretForm(v))
}

// underway says why a rotation would have to be forced.
func (k *call) underway(p models.Partner) (string, error) {
	secrets, err := k.Partners.Secrets(k.r.Context(), p)
	for _, s := range secrets {
		if partners.StateOf(s, k.now) == partners.StateRetiring {
			return "A rotation is under way: “" + s.Label + "” (…" + s.LastFour + ") retires at " + minute(*s.RetiresAt) + ". Forced, it and the others end by the new overlap.", err
		}
	}
	return "", err
}

func (k *call) secretNew() error {
	return k.makeSecret(false, func(p models.Partner) (partners.Created, error) {
		f := k.r.PostForm
		if f.Get("import") != "" {
			return k.partners().ImportSecret(k.r.Context(), p, f.Get("label"), f.Get("import"))
		}
		return k.partners().CreateSecret(k.r.Context(), p, f.Get("label"))
	})
}

func (k *call) secretRotate() error {
	return k.makeSecret(true, func(p models.Partner) (partners.Created, error) {
		f := k.r.PostForm
		length, _ := overlapOf(f.Get("overlap"))
		return k.partners().RotateSecret(k.r.Context(), p, f.Get("label"), length, f.Get("force") == "yes")
	})
}

// makeSecret shows what it made, this once.
func (k *call) makeSecret(rotate bool, do func(models.Partner) (partners.Created, error)) error {
	p, err := k.formOf()
	if err != nil {
		return err
	}
	mistakes, err := k.proven()
	if err != nil {
		return err
	}
	if _, known := overlapOf(k.r.PostForm.Get("overlap")); rotate && !known {
		mistakes = append(mistakes, errOverlapChoice)
	}
	if len(mistakes) > 0 {
		return k.secretRefused(http.StatusUnprocessableEntity, p, rotate, mistakes)
	}
	made, err := do(p)
	switch {
	case err == nil && k.r.PostForm.Get("import") != "":
		return k.to(partnerURL(p.ID) + "?tab=secrets") // whoever typed it has it
	case err == nil:
		return k.showMade(p, made, rotate)
	}
	status, mistakes, err := k.mistakes(err)
	if err != nil {
		return err
	}
	return k.secretRefused(status, p, rotate, mistakes)
}

// secretRefused shows the form again: with what was typed, save a secret.
func (k *call) secretRefused(status int, p models.Partner, rotate bool, mistakes templates.Errors) error {
	v, err := k.secretForm(p, rotate)
	if err != nil {
		return err
	}
	v.Label, v.Errors = short(k.r.PostForm.Get("label")), mistakes
	if rotate {
		v.Overlaps = k.overlapOptions(k.r.PostForm.Get("overlap"))
		if v.Underway, err = k.underway(p); err != nil {
			return err
		}
	}
	return k.show(status, templates.SecretForm(v))
}

func (k *call) showMade(p models.Partner, made partners.Created, rotated bool) error {
	url := partnerURL(p.ID)
	v := templates.SecretMadeView{
		Shell: k.shell("The new secret", allPartners, templates.Link{Label: p.Name, URL: url}), PartnerName: p.Name, Label: made.Label, Secret: made.Plain, BaseURL: k.baseURL(p),
		NextLabel: "Done: to the secrets", NextURL: url + "?tab=secrets",
	}
	if length, _ := overlapOf(k.r.PostForm.Get("overlap")); rotated {
		v.Ends = made.CreatedAt.Add(length)
	}
	link, there, err := k.Partners.Link(k.r.Context(), k.scope, p)
	if err != nil {
		return err
	}
	if there {
		v.LinkCreated = link.CreatedAt
	}
	if s, err := k.progress(p); err == nil && !s.sells() {
		v.NextLabel, v.NextURL = "Done: go on bringing the partner on", url+"/onboarding"
	}
	return k.showSecret(http.StatusOK, templates.SecretMade(v))
}

// secretOf is which secret of the partner the address names.
func (k *call) secretOf(p models.Partner) (models.SigningSecret, error) {
	s, err := k.Partners.FindSecret(k.r.Context(), p, k.r.PathValue("secret"))
	if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
		return s, errNoPage
	}
	return s, err
}

// partnerAndSecret are those that the address names.
func (k *call) partnerAndSecret() (p models.Partner, s models.SigningSecret, err error) {
	if p, err = k.partner(); err == nil {
		s, err = k.secretOf(p)
	}
	return p, s, err
}

func (k *call) retirePage() error {
	p, s, err := k.partnerAndSecret()
	if err != nil {
		return err
	}
	return k.showRetire(http.StatusOK, p, s, "24h", nil)
}

func (k *call) showRetire(status int, p models.Partner, s models.SigningSecret, when string, mistakes templates.Errors) error {
	last, err := k.Partners.LastActive(k.r.Context(), p, s.ID)
	if err != nil {
		return err
	}
	url := partnerURL(p.ID)
	v := templates.RetireFormView{
		Shell:  k.shell("When “"+s.Label+"” ends", allPartners, templates.Link{Label: p.Name, URL: url}, templates.Link{Label: "Secrets", URL: url + "?tab=secrets"}),
		Action: url + "/secrets/" + id.Format(id.Secret, s.ID) + "/retire", Cancel: url + "?tab=secrets", Label: s.Label, Whens: k.overlapOptions(when), Last: last, StepUp: k.stepUp(), Errors: mistakes,
	}
	if s.RetiresAt != nil {
		v.Ends = *s.RetiresAt
	}
	return k.show(status, templates.RetireForm(v))
}

func (k *call) retire() error {
	if err := k.form(); err != nil {
		return err
	}
	p, s, err := k.partnerAndSecret()
	if err != nil {
		return err
	}
	when := k.r.PostForm.Get("when")
	mistakes, err := k.proven()
	if err != nil {
		return err
	}
	length, known := overlapOf(when)
	if !known {
		mistakes = append(mistakes, templates.FieldError{Field: "when", Message: errOverlapChoice.Message})
	}
	status := http.StatusUnprocessableEntity
	if len(mistakes) == 0 {
		err = k.partners().RetireSecret(k.r.Context(), p, s.ID, k.now.Add(length))
		if err == nil {
			return k.to(partnerURL(p.ID) + "?tab=secrets")
		}
		if status, mistakes, err = k.mistakes(err); err != nil {
			return err
		}
	}
	return k.showRetire(status, p, s, when, mistakes)
}

func (k *call) revokeView(p models.Partner, s models.SigningSecret, mistakes templates.Errors) (*templates.ConfirmView, error) {
	last, err := k.Partners.LastActive(k.r.Context(), p, s.ID)
	url := partnerURL(p.ID)
	v := &templates.ConfirmView{
		Shell:  k.shell("Revoke “"+s.Label+"”", allPartners, templates.Link{Label: p.Name, URL: url}, templates.Link{Label: "Secrets", URL: url + "?tab=secrets"}),
		Prefix: "revoke", Action: url + "/secrets/" + id.Format(id.Secret, s.ID) + "/revoke", Submit: "Revoke", Cancel: url + "?tab=secrets",
		Consequence: "Within a second posts signed with it are refused, on every node. This cannot be undone: the partner needs another secret.",
		TypeName:    p.Slug, StepUp: k.stepUp(), Name: short(k.r.PostForm.Get("name")), Errors: mistakes,
	}
	if last {
		v.Consequence += " It is the last valid secret of this partner: after it, every signed post of theirs is refused."
	}
	return v, err
}

func (k *call) revokePage() error {
	p, s, err := k.partnerAndSecret()
	if err != nil {
		return err
	}
	return k.showRevoke(http.StatusOK, p, s, nil)
}

func (k *call) showRevoke(status int, p models.Partner, s models.SigningSecret, mistakes templates.Errors) error {
	v, err := k.revokeView(p, s, mistakes)
	if err != nil {
		return err
	}
	return k.show(status, templates.Confirm(*v))
}

func (k *call) revoke() error {
	if err := k.form(); err != nil {
		return err
	}
	p, s, err := k.partnerAndSecret()
	if err != nil {
		return err
	}
	mistakes := k.nameTyped(p.Slug)
	proof, err := k.proven()
	if err != nil {
		return err
	}
	status := http.StatusUnprocessableEntity
	if mistakes = append(mistakes, proof...); len(mistakes) == 0 {
		err = k.partners().RevokeSecret(k.r.Context(), p, s.ID)
		if err == nil {
			return k.to(partnerURL(p.ID) + "?tab=secrets")
		}
		if status, mistakes, err = k.mistakes(err); err != nil {
			return err
		}
	}
	return k.showRevoke(status, p, s, mistakes)
}
