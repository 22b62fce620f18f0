package staff

import (
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) endSession(k *web.Request) error {
	p, err := h.member(k)
	if err != nil {
		return err
	}
	session, err := web.PathID(k, "session", id.Session)
	if err != nil {
		return err
	}
	if err := h.Staff.EndSession(k.R.Context(), k.By, p.ID, session); err != nil {
		return err
	}
	return k.Redirect(sessionsURL(p))
}

func (h *Handlers) endSessionsView(k *web.Request, p staff.Member, _ int, mistakes ui.Errors) *ui.ConfirmView {
	return &ui.ConfirmView{
		Shell:       k.Shell("Revoke all sessions of "+p.Name, allStaff, ui.Link{Label: p.Name, URL: web.StaffURL(p.ID)}),
		Prefix:      "sessions",
		Action:      web.StaffURL(p.ID) + "/sessions/end",
		Consequence: p.Name + " will be signed out on all devices, and entries that are not saved can be lost. The user can sign in again.",
		StepUp:      web.StepUp(k),
		Submit:      "Revoke all sessions",
		Cancel:      sessionsURL(p),
		Errors:      mistakes,
	}
}

func sessionsURL(p staff.Member) string { return web.StaffURL(p.ID) + "?tab=sessions" }

func (h *Handlers) endSessionsPage(k *web.Request) error {
	return h.confirmPageOf(k, h.endSessionsView)
}

func (h *Handlers) endSessions(k *web.Request) error {
	return h.confirmed(k, h.endSessionsView, func(p staff.Member) (string, error) {
		return sessionsURL(p), h.Staff.EndSessions(k.R.Context(), k.By, p.ID, uuid.Nil)
	})
}
