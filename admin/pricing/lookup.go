package pricing

import (
	"github.com/pingpost/pingpost/admin/web"
)

// URLForID returns the URL of a draft. If the draft has become a version, it returns the URL of that
// version. It returns "" if the ID is unknown or the user is not allowed to read prices.
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
