package account

import (
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/id"
)

func (h *Handlers) revokeOwnSession(k *web.Request) error {
	session, err := web.PathID(k, "session", id.Session)
	if err != nil {
		return err
	}
	if err := h.Staff.EndSession(k.R.Context(), k.By, k.Session.Staff.ID, session); err != nil {
		return err
	}
	return k.Redirect("/account")
}

func (h *Handlers) revokeOtherSessions(k *web.Request) error {
	if err := h.Staff.EndSessions(k.R.Context(), k.By, k.Session.Staff.ID, k.Session.ID); err != nil {
		return err
	}
	return k.Redirect("/account")
}
