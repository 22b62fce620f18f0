package partners

import (
	"cmp"
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
)

func (h *Handlers) newPartnerPage(k *web.Request) error {
	v := view.PartnerNewView{Modes: web.SelectOption(h.modes(k, models.SigningDefault), string(models.SigningDefault))}
	return h.showPartnerNew(k, http.StatusOK, v, k.Session.Staff.Name)
}

func (h *Handlers) showPartnerNew(k *web.Request, status int, v view.PartnerNewView, manager string) error {
	managers, err := h.managers(k, manager)
	if err != nil {
		return err
	}
	v.Shell, v.Managers = k.Shell("New partner", allPartners), managers
	return k.Show(status, view.PartnerNew(v))
}

func (h *Handlers) createPartner(k *web.Request) error {
	f, signing := k.R.PostForm, models.SigningMode(k.R.PostForm.Get("signing"))
	return k.Submit(web.Form{
		StepUp: web.StepUpWhen(acceptsUnsigned(signing)),
		Do: func() (string, error) {
			made, err := h.partners(k).Create(k.R.Context(), partners.NewPartner{
				Slug:      f.Get("slug"),
				Name:      f.Get("name"),
				LegalName: f.Get("legal_name"),
				Manager:   f.Get("manager"),
				Signing:   signing,
			})
			return web.PartnerURL(made.ID) + "/onboarding", err
		},
		Show: func(r web.Rejected) error {
			return h.showPartnerNew(k, r.Status, view.PartnerNewView{
				Name:      web.Short(f.Get("name")),
				Slug:      cmp.Or(web.Short(f.Get("slug")), partners.SlugOf(f.Get("name"))),
				LegalName: web.Short(f.Get("legal_name")),
				Modes:     web.SelectOption(h.modes(k, models.SigningDefault), f.Get("signing")),
				StepUp:    r.StepUp,
				Errors:    r.Errors,
			}, web.Short(f.Get("manager")))
		},
	})
}
