package account

import (
	"github.com/pingpost/pingpost/admin/web"
)

func (h *Handlers) newRecoveryCodes(k *web.Request) error {
	if err := web.RequireStepUp(k); err != nil {
		return err
	}
	codes, err := h.Staff.NewRecoveryCodes(k.R.Context(), k.By, k.Session.Staff.ID)
	if err != nil {
		return err
	}
	return web.ShowRecoveryCodes(k, codes)
}
