// Package notes serves the pages on which staff read and redact notes about returns, adjustments and findings.
package notes

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/notes"
	"github.com/pingpost/pingpost/templates/ui"
)

// Handlers serves the pages for notes.
type Handlers struct{ Notes *notes.Service }

var allNotes = ui.Link{Label: "Notes", URL: "/privacy/notes"}

// Routes returns the routes for notes.
func (h *Handlers) Routes() []web.Route {
	const redact = "/privacy/notes/{id}/redact"
	return []web.Route{
		{Method: http.MethodGet, Path: allNotes.URL, Page: "Notes", Needs: web.ReadNotes, Handle: h.list},
		{Method: http.MethodPost, Path: "/privacy/notes/find", Needs: web.FindNotes, Erasable: true, Handle: h.find},
		{Method: http.MethodGet, Path: redact, Needs: web.RedactNotes, Handle: h.redactPage},
		{Method: http.MethodPost, Path: redact, Needs: web.RedactNotes, Handle: h.redact},
	}
}
