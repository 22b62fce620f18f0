package search

import (
	"net/http"
	"slices"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/templates/ui"
)

// linked opens the object with the ID in the URL. URLs contain only IDs, so other texts are not searched for.
func (h *Handlers) linked(k *web.Request) error {
	text := strings.TrimSpace(k.R.URL.Query().Get("q"))
	if text != "" && !web.IsID(text) {
		return k.Show(http.StatusNotFound, ui.Search(ui.SearchView{Shell: k.Shell("Search"), State: ui.SearchInURL}))
	}
	if text == "" {
		return k.Show(http.StatusOK, ui.Search(ui.SearchView{Shell: k.Shell("Search")}))
	}
	return h.open(k, text)
}

// search opens the object or the page that the user searched for. If several match, it lists them.
func (h *Handlers) search(k *web.Request) error {
	return h.open(k, strings.TrimSpace(k.R.PostForm.Get("q")))
}

func (h *Handlers) open(k *web.Request, text string) error {
	if text == "" {
		return k.Show(http.StatusUnprocessableEntity, ui.Search(ui.SearchView{Shell: k.Shell("Search")}))
	}
	if to := h.urlForID(k, text); to != "" {
		return k.Redirect(to)
	}
	found, err := h.named(k, text)
	if err != nil {
		return err
	}
	exact := slices.DeleteFunc(slices.Clone(found), func(m match) bool { return !m.exact })
	personal := web.IsContact(text)
	v := ui.SearchView{Query: web.Short(text), CanFindLeads: k.May(web.FindLeads)}
	if personal {
		v.Query = ""
	}
	switch {
	case len(exact) == 1:
		return k.Redirect(exact[0].URL)
	case personal && v.CanFindLeads && len(found) == 0:
		return k.Resubmit("/leads/find")
	case len(found) == 1:
		return k.Redirect(found[0].URL)
	case len(found) > 1:
		v.Shell = k.Shell("Search results")
		for _, m := range found {
			v.Results = append(v.Results, m.SearchResult)
		}
		return k.Show(http.StatusOK, ui.Search(v))
	}
	switch {
	case personal:
		v.State = ui.SearchPersonal
	case hasLeadPrefix(text) && !k.May(web.ReadLeads):
		v.State = ui.SearchDenied
	case strings.HasPrefix(text, quote.Prefix):
		v.State = ui.SearchToken
	case web.IsID(text):
		v.State = ui.SearchID
	default:
		v.State = ui.SearchName
		switch found, err := h.HasReference(k, text); {
		case web.Failure(err) != nil: // while erasable data is hidden, leads cannot be found by their references
			v.CanFindLeads = false
		case err != nil:
			return err
		case found:
			return k.Resubmit("/leads/find")
		}
	}
	v.Shell = k.Shell("Nothing found")
	return k.Show(http.StatusNotFound, ui.Search(v))
}

// hasLeadPrefix reports whether a text begins like a leadId or a transactionId.
func hasLeadPrefix(text string) bool {
	return strings.HasPrefix(strings.ToLower(text), string(id.Lead)) || strings.HasPrefix(text, quote.Prefix)
}

// urlForID returns the URL of the page of the object with the given id.
func (h *Handlers) urlForID(k *web.Request, text string) string {
	if staff, err := id.Parse(id.Staff, text); err == nil && k.May(web.ReadStaff) {
		return "/staff/" + id.Format(id.Staff, staff)
	}
	for _, find := range h.Find {
		if to := find(k, text); to != "" {
			return to
		}
	}
	return ""
}
