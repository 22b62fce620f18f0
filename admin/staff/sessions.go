package staff

import (
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) endSession(k *web.Request) error {
	p, err := h.member(k)
	if err != nil {
		return err
	}
	session, err := k.PathID("session", id.Session)
	if err != nil {
		return err
	}
	if err := h.Staff.By(k.By).EndSession(k.R.Context(), p.ID, session); err != nil {
		return err
	}
	return k.Redirect(sessionsURL(p))
}

// endSessionsView returns the form that asks the user to confirm that the given number of sessions will end.
func endSessionsView(sessions int) confirmView {
	return func(k *web.Request, p staff.Member, _ int, mistakes ui.Errors) *ui.ConfirmView {
		return &ui.ConfirmView{
			Shell:  k.Shell("Revoke all sessions of "+p.Name, allStaff, ui.Link{Label: p.Name, URL: web.StaffURL(p.ID)}),
			Prefix: "sessions",
			Action: web.StaffURL(p.ID) + "/sessions/end",
			Consequence: ui.Plural(sessions, "session", "sessions") + " of " + p.Name +
				" will end, and entries that are not saved can be lost. The user can sign in again.",
			StepUp: k.StepUp(),
			Submit: "Revoke all sessions",
			Cancel: sessionsURL(p),
			Errors: mistakes,
		}
	}
}

func sessionsURL(p staff.Member) string { return web.StaffURL(p.ID) + "?tab=sessions" }

func (h *Handlers) endSessionsPage(k *web.Request) error {
	p, n, err := h.sessions(k)
	switch {
	case err != nil:
		return err
	case n == 0:
		return k.Redirect(sessionsURL(p))
	}
	return h.confirmPageOf(k, endSessionsView(n))
}

func (h *Handlers) endSessions(k *web.Request) error {
	_, n, err := h.sessions(k)
	if err != nil {
		return err
	}
	return h.confirmed(k, endSessionsView(n), func(p staff.Member) (string, error) {
		return sessionsURL(p), h.Staff.By(k.By).EndSessions(k.R.Context(), p.ID, uuid.Nil)
	})
}

// sessions returns the user in the path, and the number of the user's sessions.
func (h *Handlers) sessions(k *web.Request) (p staff.Member, n int, err error) {
	if p, err = h.member(k); err != nil {
		return p, 0, err
	}
	all, err := h.Staff.Sessions(k.R.Context(), p.ID)
	return p, len(all), err
}
