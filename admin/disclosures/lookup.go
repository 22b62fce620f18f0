package disclosures

import (
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
)

// URLForID returns the URL of the disclosure text with this id. It returns "" if there is none or the user
// cannot see it.
func (h *Handlers) URLForID(k *web.Request, text string) string {
	disclosure, err := id.Parse(id.Disclosure, text)
	if err != nil {
		return ""
	}
	sc, ok := k.ScopeOf(web.ReadDisclosures)
	if !ok {
		return ""
	}
	if _, err := h.Consents.Disclosure(k.R.Context(), sc, disclosure); err != nil {
		return ""
	}
	return web.DisclosureURL(disclosure)
}
