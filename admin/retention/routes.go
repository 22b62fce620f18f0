// Package retention serves the pages for retention periods and legal holds.
package retention

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/retention"
)

// Handlers serves the pages for retention periods and legal holds.
type Handlers struct {
	Erasures  *erasure.Service
	Retention *retention.Service
	Days      Days
}

// Days contains the retention periods that do not depend on the country.
type Days struct{ Sandbox, Exports, Requests int }

// Routes returns the routes for retention periods and legal holds.
func (h *Handlers) Routes() []web.Route {
	return []web.Route{
		{Method: http.MethodGet, Path: "/privacy/retention", Page: "Retention", Needs: web.ReadRetention, Handle: h.plan},
		{Method: http.MethodGet, Path: "/privacy/retention/apply", Needs: web.ApplyRetention, Handle: h.applyPage},
		{Method: http.MethodPost, Path: "/privacy/retention/apply", Needs: web.ApplyRetention, Handle: h.apply},
		{Method: http.MethodGet, Path: "/privacy/holds", Page: "Legal holds", Needs: web.ReadRetention, Handle: h.holds},
	}
}
