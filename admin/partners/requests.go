package partners

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/admin/web/outcomes"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

const requestsPath = "/partners/requests"

// requestsTab lists the rejected requests and the replays of a partner.
func (h *Handlers) requestsTab(k *web.Request, p models.Partner) error {
	head, err := h.head(k, p, "requests")
	if err != nil {
		return err
	}
	v := view.RequestsView{Head: head, URL: head.URL, Of: head.Name}
	if head.CanWrite {
		v.CheckURL = head.URL + "/check"
	}
	return h.showRequests(k, reporting.RequestFilter{Partner: p.ID}, url.Values{"tab": {"requests"}}, v)
}

// allRequests lists the rejected requests and the replays of all partners in the user's scope.
func (h *Handlers) allRequests(k *web.Request) error {
	v := view.RequestsView{
		Head:        view.PartnerHead{Shell: k.Shell("Requests", allPartners)},
		URL:         requestsPath,
		Of:          "all partners",
		AllPartners: true,
	}
	return h.showRequests(k, reporting.RequestFilter{}, url.Values{}, v)
}

// requestFilters are the query parameters that filter requests.
var requestFilters = []string{"range", "endpoint", "outcome"}

// showRequests shows the requests that match a filter and the query, or groups of equal ones. The parameter page is
// the query of the page without filters.
func (h *Handlers) showRequests(
	k *web.Request, f reporting.RequestFilter, page url.Values, v view.RequestsView,
) (err error) {
	q := k.R.URL.Query()
	if text := strings.TrimSpace(q.Get("request")); text != "" {
		return k.Redirect("/jump?q=" + url.QueryEscape(web.Short(text)))
	}
	f.Endpoint, f.Outcome = web.SearchText(q, "endpoint"), web.SearchText(q, "outcome")
	within := q.Get("range")
	if v.AllPartners {
		within = cmp.Or(within, "24h") // grouping all requests of all partners would take too long
	}
	v.Ranges, f.Since = web.RangeFilter(within, h.RequestLogDays, k.Now)
	v.Endpoints = web.SelectOption([]ui.Option{
		{Value: intake.EndpointPing, Label: "Ping"}, {Value: intake.EndpointPost, Label: "Post"},
	}, q.Get("endpoint"))
	v.Outcomes = web.SelectOption(outcomes.Logged(), q.Get("outcome"))
	v.State = ui.ListState{Filtered: web.IsFiltered(q, requestFilters...), ClearURL: v.URL + "?" + page.Encode()}
	v.Days = ui.Plural(h.RequestLogDays, "day", "days")
	v.Grouped = q.Get("view") != "each"
	grouped := maps.Clone(page)
	for _, name := range requestFilters {
		if value := q.Get(name); value != "" {
			grouped.Set(name, value)
		}
	}
	each := maps.Clone(grouped)
	each.Set("view", "each")
	v.Views = []ui.Tab{
		{Label: "Grouped", URL: v.URL + "?" + grouped.Encode(), Current: v.Grouped},
		{Label: "Each request", URL: v.URL + "?" + each.Encode(), Current: !v.Grouped},
	}
	if v.Grouped {
		err = h.groupRequests(k, f, &v)
	} else {
		err = h.listRequests(k, f, &v)
	}
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.Requests(v))
}

// requestsURL returns the URL of a partner's requests with the given filters.
func requestsURL(partnerURL string, filters url.Values) string {
	filters.Set("tab", "requests")
	return partnerURL + "?" + filters.Encode()
}

func (h *Handlers) listRequests(k *web.Request, f reporting.RequestFilter, v *view.RequestsView) error {
	q := k.R.URL.Query()
	found, err := h.Reporting.Requests(k.R.Context(), k.Scope, f, web.NumberPage(q))
	if err != nil {
		return err
	}
	names, err := h.requestNames(k, found.Requests)
	if err != nil {
		return err
	}
	for _, r := range found.Requests {
		v.Requests = append(v.Requests, requestRow(k, r, names))
	}
	v.Pager = web.Pager(v.URL, q, found.Requests, found.Newer, found.Older,
		func(r reporting.Request) string { return web.Number(r.ID) })
	return nil
}

func (h *Handlers) groupRequests(k *web.Request, f reporting.RequestFilter, v *view.RequestsView) error {
	groups, complete, err := h.Reporting.RequestGroups(k.R.Context(), k.Scope, f, reporting.MaxRequestGroups)
	if err != nil {
		return err
	}
	if !complete {
		v.Newest = ui.Number(reporting.MaxRequestGroups)
	}
	names, err := h.groupNames(k, groups)
	if err != nil {
		return err
	}
	for _, g := range groups {
		v.Requests = append(v.Requests, groupRow(k, g, names))
	}
	return nil
}

func groupRow(k *web.Request, g reporting.RequestGroup, names requestNames) view.RequestRow {
	row := requestRow(k, g.Request, names)
	row.Count = ui.Number(g.Count)
	if g.Count > 1 {
		row.First = g.First
	}
	if end, ended := names.ends[g.Secret]; ended && g.Outcome == wrongSignature {
		row.Secret += ", " + laterText(g.First, end.at, g.Count) + " after it " + end.text()
	}
	return row
}

func requestRow(k *web.Request, r reporting.Request, names requestNames) view.RequestRow {
	words, _, rejected := outcomes.Label(r.Outcome)
	row := view.RequestRow{
		At:        r.At,
		Partner:   names.partner(k, r.Partner),
		Outcome:   requestOutcome(r.Endpoint, words),
		Response:  responseText(r),
		Code:      r.Code,
		Account:   names.accounts[r.Account].Identifier,
		Fix:       outcomes.Fix(r.Outcome, r.Code),
		Detail:    r.Detail,
		Fields:    r.Fields,
		RequestID: ui.Link{Label: id.Format(id.Request, r.RequestID), URL: requestURL(r)},
	}
	secret, known := names.secrets[r.Secret]
	switch {
	case known:
		row.Secret = secretName(secret)
	case r.Outcome == wrongSignature && k.MayAt(web.WritePartners, r.Partner) && names.partner(k, r.Partner).URL != "":
		row.CheckURL = web.PartnerURL(r.Partner) + "/check"
	}
	if known && r.Outcome == wrongSignature {
		row.Fix = endedSecretFix
	}
	if rejected {
		row.Checks, row.Reply = requestChecks(r), replyText(r, secret, names.ends[r.Secret])
	}
	return row
}

// requestOutcome returns text such as "Post: quote expired" or "Unknown path".
func requestOutcome(endpoint, words string) string {
	if endpoint == intake.EndpointUnknown {
		return ui.Sentence(words)
	}
	return ui.Sentence(endpoint) + ": " + words
}

// responseText returns the status and the message as the partner received them: "401 Invalid HMAC SHA-256 signature".
func responseText(r reporting.Request) string {
	if r.Message == "" {
		return statusText(r.Status)
	}
	return strings.Replace(statusText(r.Status), http.StatusText(r.Status), r.Message, 1)
}
