// Package jobs contains the page that lists background jobs.
package jobs

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/platform/jobs"
)

// Handlers has a method for each route of this area, and the services that they use.
type Handlers struct {
	Jobs *jobs.Queue
}

// Routes returns the routes of this package. Users need the permission payouts.export to cancel their
// own jobs. To cancel other users' jobs, they need further permissions; see [web.Request.MayStopJob].
func (h *Handlers) Routes() []web.Route {
	return []web.Route{
		{Method: http.MethodGet, Path: "/jobs", Page: "Background jobs", Needs: web.ReadPayouts, Handle: h.list},
		{Method: http.MethodGet, Path: "/jobs/{id}/live", Needs: web.ReadPayouts, Handle: h.live},
		{Method: http.MethodPost, Path: "/jobs/{id}/cancel", Needs: web.ExportPayouts, Handle: h.cancel},
	}
}
