package account

import (
	"github.com/pingpost/pingpost/admin/web"
)

func (h *Handlers) newRecoveryCodes(k *web.Request) error {
	if err := k.RequireStepUp(); err != nil {
		return err
	}
	codes, err := h.Staff.By(k.By).NewRecoveryCodes(k.R.Context(), k.Session.Staff.ID)
	if err != nil {
		return err
	}
	return k.ShowRecoveryCodes(codes)
}
