package leads

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/iso3166"
	"github.com/pingpost/pingpost/internal/leads"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/leads"
	"github.com/pingpost/pingpost/templates/ui"
)

// LeadsPage is the number of leads on a page of the list.
const LeadsPage = 50

var allLeads = ui.Link{Label: "Leads", URL: "/leads"}

var twoLetters = regexp.MustCompile(`^[A-Za-z]{2}$`)

var leadStates = []ui.Option{
	{Value: leads.StateDelivered, Label: "Delivered"},
	{Value: leads.StateReturned, Label: "Returned"},
	{Value: leads.StateErased, Label: "Erased"},
	{Value: leads.StateSandbox, Label: "Sandbox"},
}

func (h *Handlers) leadsList(k *web.Request) error {
	q := k.R.URL.Query()
	query, mistakes, err := h.leadQuery(k, q)
	if err != nil {
		return err
	}
	return h.showLeads(k, http.StatusOK, q, query, mistakes)
}

func (h *Handlers) showLeads(
	k *web.Request, status int, q url.Values, query leads.Query, mistakes []web.Notice,
) (err error) {
	var found leads.Page
	var totals leads.Totals
	if len(mistakes) == 0 { // without a valid partner, the query would match all partners
		if found, err = h.Leads.List(k.R.Context(), k.Scope, query); err != nil {
			return err
		}
		if totals, err = h.Leads.Totals(k.R.Context(), k.Scope, query); err != nil {
			return err
		}
	}
	var industries []string
	for _, industry := range h.Prices.Taxonomy().Industries() {
		industries = append(industries, industry.Slug)
	}
	v := view.ListView{
		Shell:      k.Shell("Leads"),
		Partner:    web.Short(q.Get("partner")),
		Account:    web.Short(q.Get("account")),
		Country:    web.Short(q.Get("country")),
		Countries:  web.CountryOptions(h.Prices.Markets()),
		Reference:  web.Short(q.Get("reference")),
		SubID:      web.Short(q.Get("sub_id")),
		From:       web.Short(q.Get("from")),
		To:         web.Short(q.Get("to")),
		Industries: web.SelectOption(web.Labels(industries), q.Get("industry")),
		States:     web.SelectOption(leadStates, q.Get("state")),
		Leads:      h.leadRows(k, found.Rows),
		State: ui.ListState{
			Filtered: web.IsFiltered(q, filters...),
			Invalid:  len(mistakes) > 0,
			ClearURL: "/leads",
		},
		ScannedTo: found.ScannedTo,
		Pager:     web.CursorPager("/leads", q, found.Newer.String(), found.Older.String()),
	}
	v.Shell.Notices = append(v.Shell.Notices, mistakes...)
	if len(mistakes) == 0 {
		h.addTotals(k, q, query, totals, &v)
	}
	v.Find = k.May(web.FindLeads)
	return k.Show(status, view.List(v))
}

// addTotals adds the number of leads, the sums of their prices and the link to the export.
func (h *Handlers) addTotals(k *web.Request, q url.Values, query leads.Query, totals leads.Totals, v *view.ListView) {
	v.Pager.Count = web.CountText(totals.Count, totals.More, "lead", "leads")
	if totals.More && totals.Count < leads.MaxCounted {
		v.Pager.Count = "at least " + ui.Plural(totals.Count, "lead", "leads")
	}
	listed := k.Scope.IDs()
	if query.Partner != uuid.Nil || k.Scope.All() {
		listed = []uuid.UUID{query.Partner} // without a partner, the user needs the permission for all partners
	}
	if !slices.ContainsFunc(listed, func(partner uuid.UUID) bool { return !mayReadPrice(k, partner) }) {
		v.Sums = totals.Sums
	}
	v.Uncounted = totals.More
	if !k.May(web.ExportLeads) || totals.Count == 0 && !totals.More {
		return
	}
	v.CSV = &ui.Download{
		URL: "/leads.csv?" + web.SetFilters(q, filters).Encode(), Label: "Export CSV", Holds: v.Pager.Count +
			", without personal data",
	}
}

// leadQuery reads the filters. The result mistakes contains a notice for each date and country that is not valid, and
// for a partner or an account that is not found or not unique.
func (h *Handlers) leadQuery(k *web.Request, q url.Values) (query leads.Query, mistakes []web.Notice, err error) {
	query = leads.Query{
		Industry:         web.SearchText(q, "industry"),
		State:            web.SearchText(q, "state"),
		PartnerReference: web.SearchText(q, "reference"),
		SubID:            web.SearchText(q, "sub_id"),
		Size:             LeadsPage,
	}
	query.Before, _ = leads.ParseCursor(q.Get("before")) // an invalid cursor means the first page
	query.After, _ = leads.ParseCursor(q.Get("after"))
	if query.PartnerReference != "" || query.SubID != "" {
		if err := k.CheckErasable(); err != nil { // the result would confirm values that are hidden
			return query, nil, err
		}
	}
	query.From, query.To, mistakes = web.DateRange(q)
	var unknown *web.Notice
	if query.Country, unknown = h.countryNamed(q.Get("country")); unknown != nil {
		mistakes = append(mistakes, *unknown)
	}
	if text := strings.TrimSpace(q.Get("partner")); text != "" {
		p, problem, err := k.FindPartner(k.Scope, "partner", text)
		if err != nil {
			return query, nil, err
		}
		if problem != nil {
			return query, append(mistakes, *problem), nil
		}
		query.Partner = p.ID
	}
	if text := strings.TrimSpace(q.Get("account")); text != "" {
		account, problem, err := k.FindAccount(k.Scope, query.Partner, "account", text)
		if err != nil {
			return query, nil, err
		}
		if problem != nil {
			return query, append(mistakes, *problem), nil
		}
		query.Partner, query.Account = account.PartnerID, account.ID
	}
	return query, mistakes, nil
}

// countryNamed returns the code of the country that a user entered as a code or as the name of a market. Leads can come
// from countries without a market, so any two letters are a code. For every other text, the result is a notice.
func (h *Handlers) countryNamed(text string) (code string, unknown *web.Notice) {
	text = strings.TrimSpace(text)
	if text == "" || twoLetters.MatchString(text) {
		return iso3166.Country(strings.ToUpper(text)), nil
	}
	unknown = &web.Notice{
		Kind: "warn", Code: "country",
		Text: fmt.Sprintf("“%s” is not a country. Enter the name of a country or its two-letter code, such as DE.",
			web.Short(text)),
	}
	markets := h.Prices.Markets()
	i, found := markets.ByCode(markets.Suggest(text))
	switch m := markets.At(i); {
	case !found || m.Code == pricingrules.OtherMarket:
		return "", unknown
	case strings.EqualFold(text, m.Name):
		return m.Code, nil
	default:
		unknown.Text = fmt.Sprintf("“%s” is not a country. Did you mean %s (%s)?", web.Short(text), m.Name, m.Code)
		return "", unknown
	}
}

func (h *Handlers) leadRows(k *web.Request, found []leads.Row) (rows []view.Row) {
	for _, l := range found {
		rows = append(rows, view.Row{
			ID:       id.Format(id.Lead, l.ID),
			URL:      web.LeadURL(l.ID),
			Received: l.ReceivedAt,
			Partner:  k.PartnerLink(l.PartnerID, l.PartnerName),
			Account:  l.Identifier,
			Industry: l.Industry,
			Country:  l.Country,
			Price:    l.Price,
			Hidden:   !mayReadPrice(k, l.PartnerID),
			States:   l.States(),

			Reference: k.Erasable(l.PartnerReference),
			SubID:     k.Erasable(l.SubID),
		})
	}
	return rows
}
