package partners

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

// requestsTab lists the partner's rejected requests and replays, or groups of equal ones.
func (h *Handlers) requestsTab(k *web.Request, p models.Partner) error {
	q := k.R.URL.Query()
	if text := strings.TrimSpace(q.Get("request")); text != "" {
		return k.Redirect("/jump?q=" + url.QueryEscape(web.Short(text)))
	}
	head, err := h.head(k, p, "requests")
	if err != nil {
		return err
	}
	v := view.PartnerRequestsView{
		Head:     head,
		Outcomes: web.SelectOption(web.LoggedOutcomes(), q.Get("outcome")),
		Grouped:  q.Get("view") != "each",
		State:    ui.ListState{Filtered: web.IsFiltered(q, "outcome"), ClearURL: head.URL + "?tab=requests"},
		Days:     ui.Plural(h.RequestLogDays, "day", "days"),
	}
	if head.CanWrite {
		v.CheckURL = head.URL + "/check"
	}
	f := reporting.RequestFilter{Partner: p.ID, Outcome: web.SearchText(q, "outcome")}
	v.Views = []ui.Tab{
		{Label: "Grouped", URL: requestsURL(head.URL, f.Outcome, ""), Current: v.Grouped},
		{Label: "Each request", URL: requestsURL(head.URL, f.Outcome, "each"), Current: !v.Grouped},
	}
	if v.Grouped {
		err = h.groupRequests(k, p, f, &v)
	} else {
		err = h.listRequests(k, p, f, &v)
	}
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.PartnerRequests(v))
}

func requestsURL(partnerURL, outcome, view string) string {
	q := url.Values{"tab": {"requests"}}
	if outcome != "" {
		q.Set("outcome", outcome)
	}
	if view != "" {
		q.Set("view", view)
	}
	return partnerURL + "?" + q.Encode()
}

func (h *Handlers) listRequests(
	k *web.Request, p models.Partner, f reporting.RequestFilter, v *view.PartnerRequestsView,
) error {
	q := k.R.URL.Query()
	found, err := h.Reporting.Requests(k.R.Context(), k.Scope, f, web.KeyPage(q))
	if err != nil {
		return err
	}
	names, err := h.requestNames(k, p)
	if err != nil {
		return err
	}
	for _, r := range found.Requests {
		v.Requests = append(v.Requests, requestRow(r, names, v.CheckURL))
	}
	if n := len(found.Requests); n > 0 {
		v.Pager = web.KeyPager(v.Head.URL, q, found.Newer, found.Older, found.Requests[0].ID, found.Requests[n-1].ID)
	}
	return nil
}

func (h *Handlers) groupRequests(
	k *web.Request, p models.Partner, f reporting.RequestFilter, v *view.PartnerRequestsView,
) error {
	groups, complete, err := h.Reporting.RequestGroups(k.R.Context(), k.Scope, f)
	if err != nil {
		return err
	}
	if !complete {
		v.Newest = ui.Number(reporting.MaxRequestGroups)
	}
	names, err := h.requestNames(k, p)
	if err != nil {
		return err
	}
	for _, g := range groups {
		row := requestRow(g.Request, names, v.CheckURL)
		row.Count = ui.Number(g.Count)
		if g.Count > 1 {
			row.First = g.First
		}
		v.Requests = append(v.Requests, row)
	}
	return nil
}

// requestNames contains the accounts and secrets of a partner by their IDs.
type requestNames struct {
	accounts map[uuid.UUID]models.Account
	secrets  map[uuid.UUID]models.SigningSecret
}

func (h *Handlers) requestNames(k *web.Request, p models.Partner) (requestNames, error) {
	names := requestNames{map[uuid.UUID]models.Account{}, map[uuid.UUID]models.SigningSecret{}}
	accounts, err := h.Partners.Accounts(k.R.Context(), p)
	if err != nil {
		return names, err
	}
	for _, a := range accounts {
		names.accounts[a.ID] = a
	}
	secrets, err := h.Partners.Secrets(k.R.Context(), k.Scope, p)
	for _, s := range secrets {
		names.secrets[s.ID] = s
	}
	return names, err
}

func requestRow(r reporting.Request, names requestNames, checkURL string) view.RequestRow {
	words, _, _ := web.OutcomeLabel(r.Outcome)
	row := view.RequestRow{
		At:        r.At,
		Outcome:   requestOutcome(r.Endpoint, words),
		Code:      r.Code,
		Account:   names.accounts[r.Account].Identifier,
		Fix:       web.RejectionFix(r.Outcome, r.Code),
		Detail:    r.Detail,
		Fields:    r.Fields,
		RequestID: ui.Link{Label: id.Format(id.Request, r.RequestID), URL: requestURL(r)},
	}
	if secret, ok := names.secrets[r.Secret]; ok && r.Outcome == wrongSignature {
		row.Secret = "Signed with secret " + secretName(secret) + ", which was no longer valid."
	} else if r.Outcome == wrongSignature {
		row.CheckURL = checkURL
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

// wrongSignature is the outcome of a post with a wrong signature.
const wrongSignature = "signature"

func secretName(s models.SigningSecret) string {
	return "“" + s.Label + "” (" + s.Prefix + "…" + s.LastFour + ")"
}

func requestURL(r reporting.Request) string {
	return web.PartnerURL(r.Partner) + "/requests/" + id.Format(id.Request, r.RequestID)
}

// requestPage shows a request of the partner, which can also be a ping with a price. The platform account has
// no other pages.
func (h *Handlers) requestPage(k *web.Request) error {
	partner, err := web.PathID(k, "id", id.Partner)
	if err != nil {
		return err
	}
	found, err := h.Partners.ByIDs(k.R.Context(), k.Scope, []uuid.UUID{partner})
	if err != nil {
		return err
	}
	p, ok := found[partner]
	if !ok {
		return web.ErrNotFound
	}
	requestID, err := web.PathID(k, "request", id.Request)
	if err != nil {
		return err
	}
	r, logged, err := h.Reporting.FindRequest(k.R.Context(), k.Scope, requestID)
	if err != nil {
		return err
	}
	if !logged || r.Partner != p.ID {
		return web.ErrNotFound
	}
	head := view.PartnerHead{Shell: k.Shell(p.Name)}
	if p.ID != models.PlatformIDs.Partner {
		if head, err = h.head(k, p, "requests"); err != nil {
			return err
		}
	}
	words, kind, _ := web.OutcomeLabel(r.Outcome)
	v := view.PartnerRequestView{
		Head:      head,
		RequestID: id.Format(id.Request, r.RequestID),
		At:        r.At,
		Kind:      kind,
		Outcome:   ui.Sentence(words),
		Endpoint:  ui.Sentence(r.Endpoint),
		Status:    statusText(r.Status),
		Code:      r.Code,
		Message:   r.Message,
		Detail:    r.Detail,
		Fields:    r.Fields,
		Fix:       web.RejectionFix(r.Outcome, r.Code),
		Took:      ui.DurationText(r.Took()),
	}
	if head.URL != "" {
		v.ListURL = head.URL + "?tab=requests"
	}
	if r.Outcome == wrongSignature && r.Secret == uuid.Nil && head.CanWrite {
		v.CheckURL = head.URL + "/check"
	}
	if r.Lead != uuid.Nil {
		v.Lead = ui.Link{Label: id.Format(id.Lead, r.Lead)}
		if k.MayAt(web.ReadLeads, p.ID) {
			v.Lead.URL = "/leads/" + v.Lead.Label
		}
	}
	if err := h.nameRequest(k, p, r, &v); err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.PartnerRequest(v))
}

// nameRequest fills in the account and the secret of a request.
func (h *Handlers) nameRequest(
	k *web.Request, p models.Partner, r reporting.Request, v *view.PartnerRequestView,
) error {
	names, err := h.requestNames(k, p)
	if err != nil {
		return err
	}
	v.Account = names.accounts[r.Account].Identifier
	secret, ok := names.secrets[r.Secret]
	if !ok {
		return nil
	}
	v.Secret = secretName(secret)
	if r.Outcome != wrongSignature {
		return nil
	}
	end, by, err := h.Partners.SecretEnd(k.R.Context(), k.Scope, secret)
	v.Secret += secretEndText(secret, end, by)
	v.Fix = "Sign with a valid secret. If the partner has none, create one."
	return err
}

func secretEndText(s models.SigningSecret, end time.Time, by string) string {
	text := ", expired on "
	if s.State == models.SecretRevoked {
		text = ", revoked on "
	}
	text += ui.UTC(end)
	if by != "" {
		text += " by " + by
	}
	return text
}

func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}
