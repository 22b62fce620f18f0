// Package reconciliation serves the pages and forms for reconciliations.
package reconciliation

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// Handlers serves the pages and forms for reconciliations.
type Handlers struct {
	Jobs      *jobs.Queue
	Partners  *partners.Service
	Reconcile *reconcile.Service
}

// ReconciliationPage is the number of reconciliations on a page of the list.
const ReconciliationPage = 50

var allReconciliations = ui.Link{Label: "Reconciliation", URL: "/reconciliation"}

// Routes returns the routes for reconciliations.
func (h *Handlers) Routes() []web.Route {
	const get, post = http.MethodGet, http.MethodPost
	return []web.Route{
		{Method: get, Path: "/reconciliation", Page: "Reconciliation", Needs: web.ReadReconciliation,
			Handle: h.reconciliationsList},
		{Method: get, Path: "/reconciliation/new", Page: "Reconcile a file", Needs: web.WriteReconciliation,
			Handle: h.newReconciliationPage},
		{
			Method:  post,
			Path:    "/reconciliation/new",
			Needs:   web.WriteReconciliation,
			Limit:   MaxUpload,
			Long:    true,
			Creates: "/reconciliation/{object}",
			Form:    "/reconciliation/new",
			Handle:  h.reconciliationNew,
		},
		{Method: get, Path: "/reconciliation/{id}", Needs: web.ReadReconciliation, Handle: h.reconciliationPage},
		{Method: get, Path: "/reconciliation/{id}/live", Needs: web.ReadReconciliation, Handle: h.comparisonLive},
		{
			Method: post,
			Path:   "/reconciliation/{id}/compare",
			Needs:  web.WriteReconciliation,
			Form:   "/reconciliation/{id}",
			Saves:  []string{"numbers", "dates", "from", "to", "coverage"},
			Handle: h.compareFile,
		},
		{Method: post, Path: "/reconciliation/{id}/stop", Needs: web.WriteReconciliation, Handle: h.stopComparison},
		{Method: post, Path: "/reconciliation/{id}/save", Needs: web.WriteReconciliation, Handle: h.saveResult},
		{Method: get, Path: "/reconciliation/{id}/discard", Needs: web.WriteReconciliation, Handle: h.discardResultPage},
		{Method: post, Path: "/reconciliation/{id}/discard", Needs: web.WriteReconciliation, Handle: h.discardResult},
		{Method: get, Path: "/reconciliation/{id}/lines/{line}/resolve", Needs: web.WriteReconciliation,
			Handle: h.resolvePage},
		{
			Method: post,
			Path:   "/reconciliation/{id}/lines/{line}/resolve",
			Needs:  web.WriteReconciliation,
			Form:   "/reconciliation/{id}/lines/{line}/resolve",
			Handle: h.resolve,
		},
		{Method: get, Path: "/reconciliation/{id}/lines.csv", Needs: web.ReadReconciliation, Long: true, Erasable: true,
			Handle: h.linesCSV},
	}
}

func reconciliationURL(reconciliation uuid.UUID) string {
	return "/reconciliation/" + reconcile.ID(reconciliation)
}

func (h *Handlers) reconciliations(k *web.Request) *reconcile.Service { return h.Reconcile.By(k.By) }

func (h *Handlers) reconciliation(k *web.Request) (r reconcile.Reconciliation, err error) {
	named, err := k.PathID("id", id.Reconciliation)
	if err != nil {
		return r, err
	}
	r, err = h.Reconcile.GetLive(k.R.Context(), k.Scope, named)
	return r, web.OrNotFound(err)
}

// partnerOptions returns, as options, the partners whose files the user may reconcile. The value of an option is the
// partner's slug.
func (h *Handlers) partnerOptions(k *web.Request) ([]ui.Option, error) {
	sc, _ := k.ScopeOf(web.WriteReconciliation)
	all, err := h.Partners.List(k.R.Context(), sc)
	options := make([]ui.Option, len(all))
	for i, p := range all {
		options[i] = ui.Option{Value: p.Slug, Label: p.Name}
		if p.Name != p.Slug {
			options[i].Label += " (" + p.Slug + ")"
		}
	}
	return options, err
}

// finding is a finding with its labels and its explanation.
type finding struct {
	models.Finding
	Name, short, explanation string
}

// Findings lists all findings in the order of their tabs.
var Findings = []finding{
	{models.Matched, "Matched", "matched", "Leads with the same amount in the file and the ledger."},
	{models.AmountDiffers, "Amount differs", "with a different amount",
		"Leads with different amounts or currencies in the file and the ledger. A returned lead has a ledger amount of 0."},
	{models.Unknown, "Unknown leadId", "unknown",
		"Rows with a leadId that does not belong to any of the partner's leads. Sandbox leads also count as unknown."},
	{models.Duplicated, "Duplicate", "duplicate",
		"Rows with the same leadId and amount as an earlier row, or in another currency than the lead's first row. " +
			"Only the earlier row is compared."},
	{models.Missing, "Missing from the file", "missing", "Leads received in the period that are not in the file."},
	{models.OutsidePeriod, "Outside the period", "outside the period",
		"Leads in the file that were received outside the period."},
	{models.Unreadable, "Unreadable", "unreadable",
		"Rows that cannot be read with the chosen columns and formats. Correct the file and upload it again."},
	{models.LeftOut, "Left out", "left out",
		"Leads received in the period that were not compared, because the file does not cover their currency or account."},
	{models.NotCompared, "Not compared", "not compared",
		"Rows that are not compared on their own: further amounts of a lead, which are added to its first row, " +
			"and ledger entries without a lead."},
}

func findingOf(name models.Finding) (f finding, known bool) {
	for _, f := range Findings {
		if f.Finding == name {
			return f, true
		}
	}
	return f, false
}
