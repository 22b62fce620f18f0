// Package jobs is the pages of long jobs.
package jobs

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/jobs"
)

// Handlers answers the pages of long jobs.
type Handlers struct {
	Jobs *jobs.Queue
}

// Routes are the pages about work that takes longer than a page may. Whoever may
// ask for an export may stop that one; for others' work it takes more.
func (h *Handlers) Routes() []web.Route {
	return []web.Route{
		{Method: http.MethodGet, Path: "/work", Needs: web.ReadPayouts, Handle: h.list},
		{Method: http.MethodGet, Path: "/work/{id}/live", Needs: web.ReadPayouts, Handle: h.live},
		{Method: http.MethodPost, Path: "/work/{id}/cancel", Needs: web.ExportPayouts, Handle: h.cancel},
	}
}
