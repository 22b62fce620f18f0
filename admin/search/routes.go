// Package search contains the page that finds objects by their ids.
package search

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
)

// Find returns the URL of the object with the given id. It returns "" if the object does not exist
// or the user cannot see it.
type Find func(k *web.Request, text string) (url string)

// Handlers handles requests to this package's routes.
type Handlers struct {
	Find []Find // one for each area
}

// Routes returns the routes for finding objects by their ids.
func (h *Handlers) Routes() []web.Route {
	const get = http.MethodGet
	return []web.Route{
		{Method: get, Path: "/jump", Own: true, Handle: h.jump},
		{Method: get, Path: "/keys", Own: true, Handle: h.keys},
	}
}
