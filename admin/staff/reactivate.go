package staff

import (
	"strconv"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) reactivateView(k *web.Request, p staff.Member, version int, mistakes ui.Errors) *ui.ConfirmView {
	return &ui.ConfirmView{
		Shell:       k.Shell("Reactivate "+p.Name, allStaff, ui.Link{Label: p.Name, URL: web.StaffURL(p.ID)}),
		Prefix:      "reactivate",
		Action:      web.StaffURL(p.ID) + "/reactivate",
		Consequence: p.Name + " will be able to sign in again with the same password and roles.",
		StepUp:      k.StepUp(),
		Submit:      "Reactivate user",
		Harmless:    true,
		Cancel:      web.StaffURL(p.ID),
		Hidden:      []ui.Hidden{{Name: "version", Value: strconv.Itoa(version)}},
		Errors:      mistakes,
	}
}

func (h *Handlers) reactivatePage(k *web.Request) error { return h.confirmPageOf(k, h.reactivateView) }

func (h *Handlers) reactivate(k *web.Request) error {
	return h.confirmed(k, h.reactivateView, func(p staff.Member) (string, error) {
		return web.StaffURL(p.ID), h.Staff.By(k.By).Reactivate(k.R.Context(), p.ID, k.FormRowVersion())
	})
}
