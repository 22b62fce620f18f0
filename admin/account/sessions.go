package account

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/templates/ui"
)

// otherSessions is the path that revokes the user's other sessions.
const otherSessions = "/account/sessions/end-others"

func (h *Handlers) revokeOwnSession(k *web.Request) error {
	session, err := k.PathID("session", id.Session)
	if err != nil {
		return err
	}
	if err := h.Staff.By(k.By).EndSession(k.R.Context(), k.Session.Staff.ID, session); err != nil {
		return err
	}
	return k.Redirect("/account")
}

func (h *Handlers) revokeOtherSessionsPage(k *web.Request) error {
	sessions, err := h.Staff.Sessions(k.R.Context(), k.Session.Staff.ID)
	if err != nil {
		return err
	}
	if len(sessions) < 2 {
		return k.Redirect("/account")
	}
	return k.Show(http.StatusOK, ui.Confirm(ui.ConfirmView{
		Shell:  k.Shell("Revoke all other sessions", ui.Link{Label: "Your account", URL: "/account"}),
		Action: otherSessions,
		Consequence: ui.Plural(len(sessions)-1, "other session", "other sessions") +
			" will end, and unsaved entries in them can be lost. This session continues.",
		Submit: "Revoke all other sessions",
		Cancel: "/account",
	}))
}

func (h *Handlers) revokeOtherSessions(k *web.Request) error {
	if err := h.Staff.By(k.By).EndSessions(k.R.Context(), k.Session.Staff.ID, k.Session.ID); err != nil {
		return err
	}
	return k.Redirect("/account")
}
