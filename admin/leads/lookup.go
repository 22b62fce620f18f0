package leads

import (
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
)

// URLForID returns the URL of a lead, or of a quote without a lead. The parameter text is a leadId, a
// transactionId, or the id of the request that delivered the lead. If the object does not exist or the user
// cannot see it, URLForID returns "". While erasable data is hidden, it does not find transactionIds.
func (h *Handlers) URLForID(k *web.Request, text string) string {
	sc, ok := k.ScopeOf(web.ReadLeads)
	if !ok || !web.ValidText(text) {
		return ""
	}
	if lead, err := id.Parse(id.Lead, text); err == nil {
		if _, err := h.Leads.Get(k.R.Context(), sc, lead); err == nil {
			return web.LeadURL(lead)
		}
		return ""
	}
	if request, err := id.Parse(id.Request, text); err == nil {
		if lead, err := h.Leads.FindRequest(k.R.Context(), sc, request); err == nil {
			return web.LeadURL(lead)
		}
		return ""
	}
	if lead, err := h.Leads.FindTransaction(k.R.Context(), sc, k.Erasable(text)); err == nil {
		return web.LeadURL(lead)
	}
	if k.CheckErasable() != nil {
		return ""
	}
	if _, _, err := h.openQuote(k, sc, text); err == nil {
		return web.QuoteURL(text)
	}
	return ""
}
