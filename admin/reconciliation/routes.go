// Package reconciliation is the pages and forms of reconciliation.
package reconciliation

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/jobs"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// Handlers answers the pages and forms of reconciliation.
type Handlers struct {
	Jobs      *jobs.Queue
	Partners  *partners.Service
	Reconcile *reconcile.Service
}

const ReconciliationPage = 50

var allReconciliations = ui.Link{Label: "Reconciliation", URL: "/reconciliation"}

// Routes are the pages and forms about partners' own lists.
func (h *Handlers) Routes() []web.Route {
	const get, post = http.MethodGet, http.MethodPost
	return []web.Route{
		{Method: get, Path: "/reconciliation", Needs: web.ReadReconciliation, Handle: h.reconciliationsList},
		{Method: get, Path: "/reconciliation/new", Needs: web.WriteReconciliation, Handle: h.reconciliationNewPage},
		{
			Method:  post,
			Path:    "/reconciliation/new",
			Needs:   web.WriteReconciliation,
			Limit:   MaxList,
			Long:    true,
			Creates: "/reconciliation/{object}",
			Form:    "/reconciliation/new",
			Handle:  h.reconciliationNew,
		},
		{Method: get, Path: "/reconciliation/{id}", Needs: web.ReadReconciliation, Handle: h.reconciliationPage},
		{Method: get, Path: "/reconciliation/{id}/live", Needs: web.ReadReconciliation, Handle: h.comparisonLive},
		{Method: post, Path: "/reconciliation/{id}/compare", Needs: web.WriteReconciliation, Form: "/reconciliation/{id}", Handle: h.compareList},
		{Method: post, Path: "/reconciliation/{id}/stop", Needs: web.WriteReconciliation, Handle: h.stopComparison},
		{Method: post, Path: "/reconciliation/{id}/keep", Needs: web.WriteReconciliation, Handle: h.saveResult},
		{Method: get, Path: "/reconciliation/{id}/discard", Needs: web.WriteReconciliation, Handle: h.discardResultPage},
		{Method: post, Path: "/reconciliation/{id}/discard", Needs: web.WriteReconciliation, Handle: h.discardResult},
		{Method: get, Path: "/reconciliation/{id}/lines/{line}/settle", Needs: web.WriteReconciliation, Handle: h.settlePage},
		{
			Method: post,
			Path:   "/reconciliation/{id}/lines/{line}/settle",
			Needs:  web.WriteReconciliation,
			Form:   "/reconciliation/{id}/lines/{line}/settle",
			Handle: h.settle,
		},
		{Method: get, Path: "/reconciliation/{id}/lines.csv", Needs: web.ReadReconciliation, Long: true, Handle: h.linesCSV},
	}
}

func reconciliationURL(reconciliation uuid.UUID) string {
	return "/reconciliation/" + reconcile.ID(reconciliation)
}

// reconciliations is the service on behalf of whoever asks.
func (h *Handlers) reconciliations(k *web.Request) *reconcile.Service { return h.Reconcile.By(k.By) }

// reconciliation is the one that the address names, as far as this person may see it.
func (h *Handlers) reconciliation(k *web.Request) (r reconcile.Reconciliation, err error) {
	named, err := web.PathID(k, "id", id.Reconciliation)
	if err != nil {
		return r, err
	}
	r, err = h.Reconcile.GetLive(k.R.Context(), k.Scope, named)
	return r, web.OrNotFound(err)
}

// partnerOptions are the partners at whom the person may do something, by their slugs.
func (h *Handlers) partnerOptions(k *web.Request, needs authz.Permission) ([]ui.Option, error) {
	sc, _ := k.ScopeOf(needs)
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

// finding is one of the findings of a comparison, in words.
type finding struct {
	models.Finding
	Name, short, means string
}

// Findings are all of them, in the order of their tabs.
var Findings = []finding{
	{models.Matched, "Matched", "matched", "The list and the ledger say the same."},
	{models.AmountDiffers, "Amount differs", "with another amount",
		"The lead is in the ledger with another amount, or in another currency. A lead that was returned has 0 there."},
	{models.Unknown, "Unknown leadId", "unknown", "No lead of this partner has this id; sandbox leads count as unknown."},
	{models.Duplicated, "Duplicate", "duplicate", "The list has the lead in an earlier row, which is the one that counts."},
	{models.Missing, "Missing from the file", "missing", "Leads that we received in these days and that the list lacks."},
	{models.OutsidePeriod, "Outside the period", "outside the period",
		"We received the lead on another day than those that were compared."},
	{models.Unreadable, "Unreadable", "unreadable",
		"The row could not be read as the columns were said to be: mend the list and give it again."},
	{models.LeftOut, "Left out", "left out",
		"Leads that we received in these days in currencies or on accounts that the file does not cover. They were not compared."},
}

// findingOf is a finding by its name in the address.
func findingOf(name models.Finding) (f finding, known bool) {
	for _, f := range Findings {
		if f.Finding == name {
			return f, true
		}
	}
	return f, false
}
