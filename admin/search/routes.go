// Package search is the search for an id.
package search

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
)

// Find returns the page of the object that has this id, or "" if there is none that the
// person may see.
type Find func(k *web.Request, text string) (url string)

// Handlers answers a jump to an id.
type Handlers struct {
	Find []Find // one for each area whose objects have pages
}

// Routes are the pages of jumping to an id.
func (h *Handlers) Routes() []web.Route {
	const get = http.MethodGet
	return []web.Route{
		{Method: get, Path: "/jump", Own: true, Handle: h.jump},
		{Method: get, Path: "/keys", Own: true, Handle: h.keys},
	}
}
