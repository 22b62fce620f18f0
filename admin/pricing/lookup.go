package pricing

import (
	"github.com/pingpost/pingpost/admin/web"
)

// URLForID returns the page of a draft, or of the version that it became.
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
