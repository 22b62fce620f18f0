package partners

import (
	"cmp"
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) rotateSecretForm(k *web.Request, p models.Partner) (view.SecretFormView, error) {
	v, err := h.secretForm(k, p, "Rotate secret", "/secrets/rotate")
	if err != nil {
		return v, err
	}
	v.Rotate = true
	v.Overlaps = h.overlapOptions(k, cmp.Or(k.R.PostForm.Get("overlap"), "24h"))
	v.Underway, err = h.rotationWarning(k, p)
	return v, err
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

func (h *Handlers) rotateSecretPage(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	v, err := h.rotateSecretForm(k, p)
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.SecretForm(v))
}

func (h *Handlers) rotateSecret(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	f := k.R.PostForm
	overlap, known := overlapOf(f.Get("overlap"))
	var mistakes ui.Errors
	if !known {
		mistakes = append(mistakes, errOverlapChoice)
	}
	return k.Submit(web.Form{
		Errors: mistakes,
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			created, err := h.partners(k).RotateSecret(
				k.R.Context(), k.Scope, p, f.Get("label"), overlap, f.Get("force") == "yes")
			if err != nil {
				return "", err
			}
			return "", h.showCreated(k, p, created, created.CreatedAt.Add(overlap))
		},
		Show: func(r web.Rejected) error {
			v, err := h.rotateSecretForm(k, p)
			if err != nil {
				return err
			}
			return h.secretRejected(k, v, r)
		},
	})
}
