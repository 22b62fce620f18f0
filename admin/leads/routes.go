// Package leads is the pages of leads.
package leads

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/ratecard"
)

// Handlers answers the pages of leads.
type Handlers struct {
	Leads    *leads.Reader
	Partners *partners.Service
	Payouts  *payouts.Service
	Prices   *ratecard.Service
}

// Routes are the pages about leads.
func (h *Handlers) Routes() []web.Route {
	return []web.Route{
		{Method: http.MethodGet, Path: "/leads", Needs: web.ReadLeads, Handle: h.leadsList},
		{Method: http.MethodPost, Path: "/leads/find", Needs: web.FindLeads, Handle: h.findLead},
		{Method: http.MethodGet, Path: "/leads/{id}", Needs: web.ReadLeads, Handle: h.leadPage},
	}
}
