package retention

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/retention"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) applyPage(k *web.Request) error {
	return h.showApply(k, web.Rejected{Status: http.StatusOK, StepUp: k.StepUpAgain()})
}

func (h *Handlers) apply(k *web.Request) error {
	return k.Submit(web.Form{
		StepUp: web.StepUpAlways,
		Do: func() (string, error) {
			return "/privacy/retention", h.Retention.By(k.By).Apply(k.R.Context(), k.R.PostForm.Get("version"))
		},
		Show: func(r web.Rejected) error { return h.showApply(k, r) },
	})
}

func (h *Handlers) showApply(k *web.Request, r web.Rejected) error {
	p, err := h.Retention.Plan(k.R.Context(), countFor)
	if err != nil {
		return err
	}
	if p.Applied() {
		return k.Redirect("/privacy/retention")
	}
	return k.Show(r.Status, view.Apply(view.ApplyView{
		Shell:   k.Shell("Apply configured periods", ui.Link{Label: "Retention", URL: "/privacy/retention"}),
		Version: p.Version,
		Contact: periods(p, models.RetainContact, true),
		Consent: periods(p, models.RetainConsent, true),
		StepUp:  r.StepUp,
		Errors:  r.Errors,
	}))
}
