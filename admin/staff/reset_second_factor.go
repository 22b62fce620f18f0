package staff

import (
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) resetView(k *web.Request, p staff.Member, _ int, mistakes ui.Errors) *ui.ConfirmView {
	return &ui.ConfirmView{
		Shell:       k.Shell("Reset second factor for "+p.Name, allStaff, ui.Link{Label: p.Name, URL: web.StaffURL(p.ID)}),
		Prefix:      "reset",
		Action:      web.StaffURL(p.ID) + "/reset-second-factor",
		Consequence: "The user's authenticator app and recovery codes will stop working, and the user will be signed out on all devices. First make sure that the request came from " + p.Name + ".",
		TypeName:    p.Email,
		StepUp:      k.StepUp(),
		Submit:      "Reset second factor",
		Cancel:      web.StaffURL(p.ID),
		Name:        web.Short(k.R.PostForm.Get("name")),
		Errors:      mistakes,
	}
}

func (h *Handlers) resetPage(k *web.Request) error { return h.confirmPageOf(k, h.resetView) }

func (h *Handlers) reset(k *web.Request) error {
	return h.confirmed(k, h.resetView, func(p staff.Member) (string, error) {
		return web.StaffURL(p.ID), h.Staff.By(k.By).ResetSecondFactor(k.R.Context(), p.ID)
	})
}
