package search

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

// maxSuggestions is the maximum number of suggestions for a field.
const maxSuggestions = 10

// suggest returns suggestions for the text in a field, as options of its list.
func (h *Handlers) suggest(k *web.Request) error {
	text := k.R.PostForm.Get(k.R.Header.Get("HX-Trigger-Name"))
	var options []ui.Option
	var err error
	switch k.R.PathValue("kind") {
	case "all":
		var found []match
		found, err = h.named(k, text)
		for _, m := range found {
			options = append(options, ui.Option{Value: m.value, Label: strings.Join([]string{m.Label, m.Hint}, " ")})
		}
	case "partners":
		options, err = h.suggestPartners(k, text)
	case "accounts":
		var found []partners.Match
		found, err = h.matches(k, text)
		for _, m := range found {
			if m.Account != uuid.Nil {
				options = append(options, ui.Option{Value: m.Identifier, Label: m.Identifier + " (" + m.PartnerName + ")"})
			}
		}
	default:
		return web.ErrNotFound
	}
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, ui.SuggestionOptions(options[:min(len(options), maxSuggestions)]))
}

// suggestPartners returns the partners that match a text or, if the text is a list separated by commas, its last item.
func (h *Handlers) suggestPartners(k *web.Request, text string) (options []ui.Option, err error) {
	before, last := "", text
	if comma := strings.LastIndex(text, ","); comma >= 0 {
		before, last = text[:comma]+", ", text[comma+1:]
	}
	found, err := h.matches(k, last)
	for _, m := range found {
		o := ui.Option{Value: before + m.Slug, Label: m.PartnerName + " (" + m.Slug + ")"}
		if !slices.Contains(options, o) {
			options = append(options, o)
		}
	}
	return options, err
}

// matches returns the partners and accounts that match a text and whose leads or pages the user may see.
func (h *Handlers) matches(k *web.Request, text string) ([]partners.Match, error) {
	sc, ok := k.ScopeOf(web.ReadPartners)
	if !ok {
		sc, _ = k.ScopeOf(web.ReadLeads)
	}
	return h.Partners.Search(k.R.Context(), sc, text, maxMatches)
}
