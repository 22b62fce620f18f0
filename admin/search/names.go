package search

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/templates/ui"
)

// maxMatches is the maximum number of objects of each kind that a search by name finds.
const maxMatches = 20

// match is an object or a page whose name contains the text of a search.
type match struct {
	ui.SearchResult
	value string // the text that finds only this object
	exact bool   // the text is the complete name
}

// named returns the partners, accounts, users and pages that the user may see and whose name contains the text.
// The best matches come first.
func (h *Handlers) named(k *web.Request, text string) (all []match, err error) {
	if text == "" {
		return nil, nil
	}
	if sc, ok := k.ScopeOf(web.ReadPartners); ok {
		found, err := h.Partners.Search(k.R.Context(), sc, text, maxMatches)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			result := match{value: m.Slug, exact: m.Exact, SearchResult: ui.SearchResult{
				Kind: "Partner", Label: m.PartnerName, Hint: m.Slug, URL: web.PartnerURL(m.Partner),
			}}
			if m.Account != uuid.Nil {
				result.value = m.Identifier
				result.Kind, result.Label, result.Hint = "Account", m.Identifier, m.PartnerName
				result.URL += "?tab=accounts"
			}
			all = append(all, result)
		}
	}
	if k.May(web.ReadStaff) {
		found, err := h.Staff.Search(k.R.Context(), text, maxMatches)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			all = append(all, match{
				value: p.Email, exact: strings.EqualFold(p.Email, text) || strings.EqualFold(p.Name, text),
				SearchResult: ui.SearchResult{Kind: "User", Label: p.Name, Hint: p.Email, URL: web.StaffURL(p.ID)},
			})
		}
	}
	for _, r := range h.Pages {
		if k.MayOpen(r) && strings.Contains(strings.ToLower(r.Page), strings.ToLower(text)) {
			all = append(all, match{
				value: r.Page, exact: strings.EqualFold(r.Page, text),
				SearchResult: ui.SearchResult{Kind: "Page", Label: r.Page, URL: strings.TrimSuffix(r.Path, "{$}")},
			})
		}
	}
	exact, others := slices.Clone(all), slices.Clone(all)
	exact = slices.DeleteFunc(exact, func(m match) bool { return !m.exact })
	others = slices.DeleteFunc(others, func(m match) bool { return m.exact })
	return append(exact, others...), nil
}
