package requests

import (
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/requests"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) list(k *web.Request) error {
	q := k.R.URL.Query()
	shown := q.Get("state")
	closed, notify := shown == "closed", shown == "notify"
	due, err := h.Requests.CountDue(k.R.Context())
	if err != nil {
		return err
	}
	v := view.ListView{
		Shell: k.Shell("Privacy requests"), Tabs: k.PrivacyTabs(), Closed: closed, Notify: notify, Due: view.Due(due),
		States: []ui.Tab{
			{Label: "Open", URL: allRequests.URL, Current: !closed && !notify},
			{Label: "Partners to notify", URL: allRequests.URL + "?state=notify", Current: notify},
			{Label: "Closed", URL: allRequests.URL + "?state=closed", Current: closed},
		},
	}
	if k.May(web.WriteRequests) {
		v.NewURL = "/privacy/requests/new"
	}
	read := h.Requests.Open
	switch {
	case closed:
		read = h.Requests.Closed
	case notify:
		read = h.Requests.ToNotify
	}
	after, _ := id.Parse(id.PrivacyRequest, q.Get("after")) // an invalid id selects the first page
	all, err := read(k.R.Context(), after, web.PageSize+1)
	if err != nil {
		return err
	}
	if len(all) > web.PageSize {
		all = all[:web.PageSize]
		next := url.Values{"after": {requests.ID(all[len(all)-1].ID)}}
		if closed || notify {
			next.Set("state", shown)
		}
		v.Next = allRequests.URL + "?" + next.Encode()
	}
	for _, r := range all {
		v.Rows = append(v.Rows, view.Row{
			ID:        requestLink(r.ID),
			Kind:      ui.Sentence(kindLabels[r.Kind]),
			Reference: k.Erasable(r.Reference),
			State:     state(k, r),
			Leads:     r.Leads,
			Received:  r.ReceivedOn,
			Due:       r.DueOn,
			ToNotify:  r.ToNotify,
			Closed:    web.TimeOf(r.ClosedAt),
		})
	}
	return k.Show(http.StatusOK, view.List(v))
}

var outcomeLabels = map[models.RequestOutcome]string{
	models.OutcomeExported:     "data exported",
	models.OutcomeErased:       "data erased",
	models.OutcomeDone:         "done",
	models.OutcomeNothingFound: "nothing found",
	models.OutcomeRejected:     "rejected",
	models.OutcomeWithdrawn:    "withdrawn",
}

func state(k *web.Request, r requests.Request) view.State {
	switch {
	case r.Overdue(k.Now):
		return view.State{Code: "overdue", Label: "overdue"}
	case r.Outcome == nil:
		label := "open"
		if r.Own > 0 {
			label = "open, partly erased"
		}
		return view.State{Code: "open", Label: label}
	case *r.Outcome == models.OutcomeErased && r.Pending > 0:
		return view.State{Code: "erasing", Label: "erasing"}
	case r.ToNotify > 0:
		return view.State{Code: "to_notify", Label: "partners to notify"}
	case *r.Outcome == models.OutcomeNothingFound && r.Leads > 0:
		return view.State{Code: string(*r.Outcome), Label: "already erased"}
	}
	return view.State{Code: string(*r.Outcome), Label: outcomeLabels[*r.Outcome]}
}

func requestLink(request uuid.UUID) ui.Link {
	return ui.Link{Label: requests.ID(request), URL: web.RequestURL(request)}
}
