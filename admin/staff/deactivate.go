package staff

import (
	"strconv"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) deactivateView(k *web.Request, p staff.Member, version int, mistakes ui.Errors) *ui.ConfirmView {
	return &ui.ConfirmView{
		Shell:       k.Shell("Deactivate "+p.Name, allStaff, ui.Link{Label: p.Name, URL: web.StaffURL(p.ID)}),
		Prefix:      "deactivate",
		Action:      web.StaffURL(p.ID) + "/deactivate",
		Consequence: p.Name + " will be signed out on all devices and will not be able to sign in until an administrator reactivates the account. The user's past actions remain in the audit log.",
		TypeName:    p.Email,
		StepUp:      k.StepUp(),
		Submit:      "Deactivate user",
		Cancel:      web.StaffURL(p.ID),
		Hidden:      []ui.Hidden{{Name: "version", Value: strconv.Itoa(version)}},
		Name:        web.Short(k.R.PostForm.Get("name")),
		Errors:      mistakes,
	}
}

func (h *Handlers) deactivatePage(k *web.Request) error { return h.confirmPageOf(k, h.deactivateView) }

func (h *Handlers) deactivate(k *web.Request) error {
	return h.confirmed(k, h.deactivateView, func(p staff.Member) (string, error) {
		return web.StaffURL(p.ID), h.Staff.By(k.By).Deactivate(k.R.Context(), p.ID, k.FormRowVersion())
	})
}
