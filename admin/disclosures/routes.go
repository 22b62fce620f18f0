// Package disclosures serves the pages for disclosure texts.
package disclosures

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/consents"
	"github.com/pingpost/pingpost/templates/ui"
)

// Handlers serves the pages for disclosure texts.
type Handlers struct{ Consents *consents.Service }

var allTexts = ui.Link{Label: "Disclosure texts", URL: "/privacy/disclosures"}

// Routes returns the routes for disclosure texts.
func (h *Handlers) Routes() []web.Route {
	const disclosure = "/privacy/disclosures/{id}"
	return []web.Route{
		{Method: http.MethodGet, Path: allTexts.URL, Page: "Disclosure texts", Needs: web.ReadDisclosures, Handle: h.list},
		{Method: http.MethodGet, Path: disclosure, Needs: web.ReadDisclosures, Handle: h.page},
		{Method: http.MethodGet, Path: disclosure + "/replace", Needs: web.ReplaceDisclosures, Erasable: true,
			Handle: h.replacePage},
		{Method: http.MethodPost, Path: disclosure + "/replace", Needs: web.ReplaceDisclosures,
			Form: disclosure + "/replace", Erasable: true, Handle: h.replace},
	}
}
