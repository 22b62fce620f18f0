// Package overview is the overview.
package overview

import (
	"log/slog"
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/jobs"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
)

// Handlers answers the overview.
type Handlers struct {
	DefaultSigning models.SigningMode // of partners without their own
	Jobs           *jobs.Queue
	Log            *slog.Logger
	Partners       *partners.Service
	Payouts        *payouts.Service
	Prices         *ratecard.Service
	Reporting      *reporting.Reader
}

// Routes are the pages of the overview.
func (h *Handlers) Routes() []web.Route {
	const get = http.MethodGet
	return []web.Route{
		{Method: get, Path: "/{$}", Needs: web.ReadOverview, Handle: h.overview},
	}
}
