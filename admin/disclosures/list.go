package disclosures

import (
	"net/http"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/consents"
	view "github.com/pingpost/pingpost/templates/disclosures"
	"github.com/pingpost/pingpost/templates/ui"
)

var kinds = []struct {
	kind  consents.DisclosureKind
	label string
}{
	{consents.NonStandardTexts, "Not standard"},
	{consents.StandardTexts, "Standard"},
	{consents.ReplacedTexts, "Replaced"},
}

func (h *Handlers) list(k *web.Request) error {
	q := k.R.URL.Query()
	kind := consents.DisclosureKind(q.Get("kind"))
	if kind != consents.StandardTexts && kind != consents.ReplacedTexts {
		kind = consents.NonStandardTexts
	}
	v := view.ListView{Shell: k.Shell(allTexts.Label), Tabs: k.PrivacyTabs(), Kind: string(kind), Limited: !k.Scope.All()}
	for _, option := range kinds {
		tab := ui.Tab{Label: option.label, URL: allTexts.URL, Current: option.kind == kind}
		if option.kind != consents.NonStandardTexts {
			tab.URL += "?kind=" + string(option.kind)
		}
		v.Kinds = append(v.Kinds, tab)
	}
	page := web.PageOf(q, web.PageSize, consents.ParseDisclosureCursor)
	all, newer, older, err := h.Consents.Disclosures(k.R.Context(), k.Scope, kind, page)
	if err != nil {
		return err
	}
	for _, d := range all {
		v.Rows = append(v.Rows, view.Row{
			Text: ui.Link{Label: k.Erasable(startOf(d)), URL: web.DisclosureURL(d.ID)}, Facts: facts(k, d),
		})
	}
	v.Pager = web.Pager(allTexts.URL, q, all, newer, older,
		func(d consents.Disclosure) string { return d.Cursor().String() })
	return k.Show(http.StatusOK, view.List(v))
}

// shownInList is the number of characters of each text that the list shows.
const shownInList = 120

// startOf returns the start of a text on one line, or its ID if the start is blank.
func startOf(d consents.Disclosure) string {
	text := []rune(strings.Join(strings.Fields(d.Text), " "))
	switch {
	case len(text) == 0:
		return consents.DisclosureID(d.ID)
	case len(text) > shownInList:
		return string(text[:shownInList]) + "…"
	}
	return string(text)
}

func facts(k *web.Request, d consents.Disclosure) view.Facts {
	f := view.Facts{
		ID:         consents.DisclosureID(d.ID),
		Partner:    k.PartnerLink(d.PartnerID, d.PartnerName),
		FirstUsed:  d.FirstUsedAt,
		Standard:   d.Standard,
		Replaced:   web.TimeOf(d.ReplacedAt),
		ReplacedBy: d.ReplacedBy,
	}
	if !d.Standard {
		f.Leads = web.CountText(d.Leads, d.MoreLeads, "lead", "leads")
	}
	return f
}
