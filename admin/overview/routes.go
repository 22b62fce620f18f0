// Package overview contains the overview page.
package overview

import (
	"log/slog"
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/models"
)

// Handlers has a method for each route of this area, and the services that they use.
type Handlers struct {
	DefaultSigning models.SigningMode // for partners without their own signing mode
	Jobs           *jobs.Queue
	Log            *slog.Logger
	Partners       *partners.Service
	Payouts        *payouts.Service
	Prices         *ratecard.Service
	Requests       *requests.Service
	Reporting      *reporting.Reader
}

// Routes returns the routes of the overview.
func (h *Handlers) Routes() []web.Route {
	const get = http.MethodGet
	return []web.Route{
		{Method: get, Path: "/{$}", Page: "Overview", Needs: web.ReadOverview, Handle: h.overview},
	}
}
