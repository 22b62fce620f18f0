// Package leads serves the pages for leads.
package leads

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/evidence"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/internal/reveal"
)

// Handlers serves the pages for leads.
type Handlers struct {
	Audit     *audit.Log
	Evidence  *evidence.Service
	Leads     *leads.Reader
	Partners  *partners.Service
	Payouts   *payouts.Service
	Prices    *ratecard.Service
	Erasures  *erasure.Service
	Reveals   *reveal.Service
	Quotes    *quote.Sealer
	Reporting *reporting.Reader
}

// Routes returns the routes for leads.
func (h *Handlers) Routes() []web.Route {
	return []web.Route{
		{Method: http.MethodGet, Path: "/leads", Page: "Leads", Needs: web.ReadLeads, Handle: h.leadsList},
		{Method: http.MethodGet, Path: "/leads.csv", Needs: web.ExportLeads, Long: true, Handle: h.leadsCSV},
		{Method: http.MethodPost, Path: "/leads/find", Needs: web.FindLeads, Handle: h.findLead},
		{Method: http.MethodGet, Path: "/leads/quotes/{transaction}", Needs: web.ReadLeads, Erasable: true,
			Handle: h.quotePage},
		{Method: http.MethodGet, Path: "/leads/{id}", Needs: web.ReadLeads, Handle: h.leadPage},
		{Method: http.MethodGet, Path: "/leads/{id}/reveal", Needs: web.RevealLeads, Handle: h.revealPage},
		{Method: http.MethodPost, Path: "/leads/{id}/reveal", Needs: web.RevealLeads, Creates: "/leads/{id}",
			Handle: h.reveal},
		{Method: http.MethodGet, Path: "/leads/{id}/erase", Needs: web.EraseLeads, Handle: h.erasePage},
		{Method: http.MethodPost, Path: "/leads/{id}/erase", Needs: web.EraseLeads, Handle: h.erase},
		{Method: http.MethodGet, Path: "/leads/{id}/evidence", Needs: web.ExportEvidence, Handle: h.evidencePage},
		{Method: http.MethodPost, Path: "/leads/{id}/evidence", Needs: web.ExportEvidence, Handle: h.evidence},
		{Method: http.MethodGet, Path: "/leads/{id}/hold", Needs: web.HoldLeads, Handle: h.holdPage},
		{Method: http.MethodPost, Path: "/leads/{id}/hold", Needs: web.HoldLeads, Creates: "/leads/{id}", Handle: h.hold},
		{Method: http.MethodGet, Path: "/leads/{id}/release", Needs: web.HoldLeads, Handle: h.releasePage},
		{Method: http.MethodPost, Path: "/leads/{id}/release", Needs: web.HoldLeads, Handle: h.release},
	}
}
