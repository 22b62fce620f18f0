package partners

import (
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
)

// URLForID returns the URL of the partner or the request with this id. It returns "" if the
// object does not exist or the user cannot see it.
func (h *Handlers) URLForID(k *web.Request, text string) string {
	sc, ok := k.ScopeOf(web.ReadPartners)
	if !ok {
		return ""
	}
	if partner, err := id.Parse(id.Partner, text); err == nil {
		if p, err := h.Partners.Find(k.R.Context(), sc, id.Format(id.Partner, partner)); err == nil {
			return web.PartnerURL(p.ID)
		}
	}
	if request, err := id.Parse(id.Request, text); err == nil {
		r, found, err := h.Reporting.FindRequest(k.R.Context(), sc, request)
		if err == nil && found {
			return requestURL(r)
		}
	}
	return ""
}
