package search

import (
	"net/http"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/payload"
	"github.com/pingpost/pingpost/templates/ui"
)

// jump redirects to the page of the object with the id in the query.
func (h *Handlers) jump(k *web.Request) error {
	q := strings.TrimSpace(k.R.URL.Query().Get("q"))
	if to := h.urlForID(k, q); to != "" {
		return k.Redirect(to)
	}
	v := ui.JumpView{Shell: k.Shell("Nothing found"), Query: web.Short(q)}
	if k.May(web.FindLeads) {
		v.LeadsURL = "/leads"
	}
	if _, number := payload.PossibleE164(q, ""); number || strings.Contains(q, "@") {
		// The query contains personal data. It is already in the URL, but the page must not repeat it.
		v.Personal, v.Query, v.Shell.Path, v.Shell.Title = true, "", "/", "Search by ID only"
	}
	return k.Show(http.StatusNotFound, ui.JumpNotFound(v))
}

// urlForID returns the URL of the page of the object with the given id. If the object has no page, it
// returns the URL of the object's audit events.
func (h *Handlers) urlForID(k *web.Request, text string) string {
	if staff, err := id.Parse(id.Staff, text); err == nil && k.May(web.ReadStaff) {
		return "/staff/" + id.Format(id.Staff, staff)
	}
	for _, find := range h.Find {
		if to := find(k, text); to != "" {
			return to
		}
	}
	if !k.May(web.ReadAudit) {
		return ""
	}
	for _, kind := range []id.Kind{id.Account, id.Secret, id.Lead, id.RateCard} {
		if object, err := id.Parse(kind, text); err == nil {
			return "/audit?object=" + id.Format(kind, object)
		}
	}
	return ""
}
