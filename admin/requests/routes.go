// Package requests serves the pages for privacy requests.
package requests

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/templates/ui"
)

// Handlers serves the pages for privacy requests.
type Handlers struct {
	Partners *partners.Service
	Payouts  *payouts.Service
	Prices   *ratecard.Service
	Erasures *erasure.Service
	Requests *requests.Service
}

var allRequests = ui.Link{Label: "Privacy requests", URL: "/privacy/requests"}

// Routes returns the routes for privacy requests. The form that creates a request is not saved when a session
// has expired, because an email address or phone number must not be stored.
func (h *Handlers) Routes() []web.Route {
	const request = "/privacy/requests/{id}"
	all := []web.Route{
		{Method: http.MethodGet, Path: allRequests.URL, Page: "Privacy requests", Needs: web.ReadRequests, Handle: h.list},
		{Method: http.MethodGet, Path: "/privacy/requests/new", Page: "New privacy request", Needs: web.WriteRequests,
			Handle: h.newPage},
		{Method: http.MethodPost, Path: "/privacy/requests/new", Needs: web.WriteRequests,
			Creates: "/privacy/requests/{object}", Handle: h.create},
		{Method: http.MethodGet, Path: request, Needs: web.ReadRequests, Handle: h.page},
		{Method: http.MethodGet, Path: request + "/leads.csv", Needs: web.ReadRequests, Long: true, Erasable: true,
			Handle: h.leadsCSV},
		{Method: http.MethodPost, Path: request + "/notices", Needs: web.WriteRequests, Handle: h.recordNotice},
		{Method: http.MethodGet, Path: request + "/notices/{partner}", Needs: web.WriteRequests, Handle: h.noNoticePage},
		{Method: http.MethodPost, Path: request + "/notices/{partner}", Needs: web.WriteRequests,
			Form: request + "/notices/{partner}", Saves: []string{"reason"}, Handle: h.noNotice},
		{Method: http.MethodGet, Path: request + "/export", Needs: web.WriteRequests, Handle: h.exportPage},
		{Method: http.MethodPost, Path: request + "/export", Needs: web.WriteRequests, Creates: request,
			ShownOnce: true, Long: true, Handle: h.export},
		{Method: http.MethodGet, Path: request + "/export.zip", Needs: web.WriteRequests, Long: true, Erasable: true,
			Handle: h.download},
	}
	for _, s := range h.steps() {
		path := request + "/" + s.name
		all = append(all,
			web.Route{Method: http.MethodGet, Path: path, Needs: web.WriteRequests, Erasable: s.erasable, Handle: s.page},
			web.Route{
				Method: http.MethodPost, Path: path, Needs: web.WriteRequests,
				Form: path, Saves: s.saves, Erasable: s.erasable, Handle: s.submit,
			})
	}
	return all
}
