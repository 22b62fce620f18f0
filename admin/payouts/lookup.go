package payouts

import (
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
)

// URLForID returns the URL of the payout run, return or adjustment with this id. It returns "" if the object does
// not exist or the user cannot see it.
func (h *Handlers) URLForID(k *web.Request, text string) string {
	sc, ok := k.ScopeOf(web.ReadPayouts)
	if !ok {
		return ""
	}
	if object, err := id.Parse(id.Payout, text); err == nil {
		if r, err := h.Payouts.FindRun(k.R.Context(), sc, object); err == nil {
			return web.RunURL(r.ID)
		}
	}
	if object, err := id.Parse(id.Return, text); err == nil {
		if r, err := h.Payouts.Return(k.R.Context(), sc, object); err == nil {
			return returnURL(r.ID)
		}
	}
	if object, err := id.Parse(id.Adjustment, text); err == nil {
		if a, err := h.Payouts.Adjustment(k.R.Context(), sc, object); err == nil {
			return adjustmentURL(a.ID)
		}
	}
	return ""
}
