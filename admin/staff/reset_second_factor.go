package staff

import (
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) resetView(k *web.Request, p staff.Member, _ int, mistakes ui.Errors) *ui.ConfirmView {
	return &ui.ConfirmView{
		Shell:       k.Shell("Reset the second factor of "+p.Name, allStaff, ui.Link{Label: p.Name, URL: web.StaffURL(p.ID)}),
		Prefix:      "reset",
		Action:      web.StaffURL(p.ID) + "/reset-second-factor",
		Consequence: "Their authenticator and recovery codes stop working, and they are signed out everywhere. Make sure that it is really " + p.Name + " who asks.",
		TypeName:    p.Email,
		StepUp:      web.StepUp(k),
		Submit:      "Reset the second factor",
		Cancel:      web.StaffURL(p.ID),
		Name:        web.Short(k.R.PostForm.Get("name")),
		Errors:      mistakes,
	}
}

func (h *Handlers) resetPage(k *web.Request) error { return h.confirmPageOf(k, h.resetView) }

func (h *Handlers) reset(k *web.Request) error {
	return h.confirmed(k, h.resetView, func(p staff.Member) (string, error) {
		return web.StaffURL(p.ID), h.Staff.ResetSecondFactor(k.R.Context(), k.By, p.ID)
	})
}
