package reconciliation

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/reconciliation"
	"github.com/pingpost/pingpost/templates/ui"
)

var reconciliationStates = []ui.Option{
	{Value: string(models.ReconciliationUploaded), Label: "Not compared yet"},
	{Value: string(models.ReconciliationComparing), Label: "Comparing"},
	{Value: string(models.ReconciliationCompared), Label: "Dry run, not saved"},
	{Value: string(models.ReconciliationSaved), Label: "Saved"},
	{Value: string(models.ReconciliationDiscarded), Label: "Discarded"},
}

func (h *Handlers) reconciliationsList(k *web.Request) error {
	q := k.R.URL.Query()
	query, mistake, err := h.reconciliationQuery(k, q)
	if err != nil {
		return err
	}
	var found []reconcile.Reconciliation
	newer, older := false, false
	unknownState := query.State != "" && selectedLabel(reconciliationStates, string(query.State)) == ""
	if mistake == nil && !unknownState {
		if found, newer, older, err = h.Reconcile.List(k.R.Context(), k.Scope, query); err != nil {
			return err
		}
	}
	v := view.ListView{
		Shell:   k.Shell("Reconciliation"),
		Partner: web.Short(q.Get("partner")),
		States:  web.SelectOption(reconciliationStates, q.Get("state")),
		State: ui.ListState{
			Filtered: web.IsFiltered(q, "partner", "state"), Invalid: mistake != nil, ClearURL: "/reconciliation",
		},
	}
	if mistake != nil {
		v.Shell.Notices = append(v.Shell.Notices, *mistake)
	}
	if k.May(web.WriteReconciliation) {
		v.NewURL = "/reconciliation/new"
	}
	for _, r := range found {
		v.Rows = append(v.Rows, view.Row{
			FileName:  r.FileName,
			URL:       reconciliationURL(r.ID),
			Partner:   r.PartnerName,
			Rows:      r.Profile.Rows,
			Findings:  findingCounts(r.Result),
			State:     string(r.State),
			CreatedBy: r.CreatedBy,
			Made:      r.CreatedAt,
		})
	}
	v.Pager = web.Pager("/reconciliation", q, found, newer, older,
		func(r reconcile.Reconciliation) string { return reconcile.ID(r.ID) })
	return k.Show(http.StatusOK, view.List(v))
}

// reconciliationQuery reads the filter. If no partner, or more than one, matches the filter, the result mistake is a
// notice about it. An invalid cursor selects the first page.
func (h *Handlers) reconciliationQuery(
	k *web.Request, q url.Values,
) (query reconcile.Query, mistake *web.Notice, err error) {
	query.Page = web.IDPage(q, id.Reconciliation)
	query.Page.Size = ReconciliationPage
	query.State = models.ReconciliationState(q.Get("state"))
	if text := strings.TrimSpace(q.Get("partner")); text != "" {
		p, mistake, err := k.FindPartner(k.Scope, "partner", text)
		if err != nil || mistake != nil {
			return query, mistake, err
		}
		query.Partner = p.ID
	}
	return query, nil, nil
}

func selectedLabel(options []ui.Option, value string) string {
	for _, o := range options {
		if o.Value == value {
			return o.Label
		}
	}
	return ""
}

func findingCounts(result *reconcile.Result) (all []view.FindingCount) {
	if result == nil {
		return nil
	}
	counts := result.Counts()
	for _, f := range Findings {
		if n := counts[f.Finding]; n > 0 {
			all = append(all, view.FindingCount{Finding: string(f.Finding), Label: f.short, Lines: n})
		}
	}
	return all
}
