// Package search contains the search for objects and pages, and the suggestions of fields that name a partner or
// an account.
package search

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

// Find returns the URL of the object with the given id. It returns "" if the object does not exist
// or the user cannot see it.
type Find func(k *web.Request, text string) (url string)

// Handlers has a method for each route of this area, and the services that they use.
type Handlers struct {
	Find         []Find                                          // one for each area
	HasReference func(k *web.Request, text string) (bool, error) // of a lead that the user may find
	Pages        []web.Route                                     // routes with Route.Page
	Partners     *partners.Service
	Staff        *staff.Service
}

// Routes returns the routes of the search.
func (h *Handlers) Routes() []web.Route {
	const get, post = http.MethodGet, http.MethodPost
	return []web.Route{
		{Method: get, Path: "/jump", Own: true, Handle: h.linked},
		{Method: post, Path: "/jump", Own: true, Handle: h.search},
		{Method: post, Path: ui.SuggestPath + "{kind}", Own: true, Handle: h.suggest},
		{Method: get, Path: "/keys", Page: "Keyboard shortcuts", Own: true, Handle: h.keys},
	}
}
