package pricing

import (
	"github.com/pingpost/pingpost/admin/web"
)

// URLForID returns the URL of a draft, or of the version that it became. It is "" if the ID is
// unknown or the user may not read prices.
func (h *Handlers) URLForID(k *web.Request, text string) string {
	if !k.May(web.ReadPricing) {
		return ""
	}
	card, err := h.Prices.Draft(k.R.Context(), text)
	switch {
	case err != nil:
		return ""
	case card.Version > 0:
		return web.VersionURL(card.Version)
	}
	return web.DraftURL(card.ID)
}
