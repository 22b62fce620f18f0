package partners

import (
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

func (h *Handlers) secretRotatePage(k *web.Request) error { return h.secretPage(k, true) }

func (h *Handlers) rotateSecret(k *web.Request) error {
	return h.submitSecret(k, true, func(p models.Partner) (partners.CreatedSecret, error) {
		f := k.R.PostForm
		length, _ := overlapOf(f.Get("overlap"))
		return h.partners(k).RotateSecret(k.R.Context(), k.Scope, p, f.Get("label"), length, f.Get("force") == "yes")
	})
}
