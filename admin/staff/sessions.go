package staff

import (
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/id"
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
	return k.Redirect(web.StaffURL(p.ID) + "?tab=sessions")
}

func (h *Handlers) endSessions(k *web.Request) error {
	p, err := h.member(k)
	if err != nil {
		return err
	}
	if err := h.Staff.EndSessions(k.R.Context(), k.By, p.ID, uuid.Nil); err != nil {
		return err
	}
	return k.Redirect(web.StaffURL(p.ID) + "?tab=sessions")
}
