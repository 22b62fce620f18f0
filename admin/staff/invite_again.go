package staff

import (
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) inviteAgainView(k *web.Request, p staff.Member, _ int, mistakes ui.Errors) *ui.ConfirmView {
	return &ui.ConfirmView{
		Shell:       k.Shell("New invitation for "+p.Name, allStaff, ui.Link{Label: p.Name, URL: web.StaffURL(p.ID)}),
		Prefix:      "invite",
		Action:      web.StaffURL(p.ID) + "/invite",
		Consequence: "This creates a new invitation link for " + p.Name + ". The previous link will stop working.",
		StepUp:      k.StepUp(),
		Submit:      "Create invitation",
		Harmless:    true,
		Cancel:      web.StaffURL(p.ID),
		Hidden:      []ui.Hidden{{Name: ui.FormKeyField, Value: k.FormKey()}},
		Errors:      mistakes,
	}
}

func (h *Handlers) inviteAgainPage(k *web.Request) error {
	return h.confirmPageOf(k, h.inviteAgainView)
}

func (h *Handlers) inviteAgain(k *web.Request) error {
	return h.confirmed(k, h.inviteAgainView, func(p staff.Member) (string, error) {
		made, err := h.Staff.By(k.By).RenewInvitation(k.R.Context(), p.ID)
		if err != nil {
			return "", err
		}
		return "", h.showInvited(k, made)
	})
}
