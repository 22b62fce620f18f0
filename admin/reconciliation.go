package admin

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

const reconciliationPage = 50

var allReconciliations = templates.Link{Label: "Reconciliation", URL: "/reconciliation"}

// reconciliationRoutes are the pages and forms about partners' own lists.
func (c *Console) reconciliationRoutes() []route {
	const get, post, one = http.MethodGet, http.MethodPost, "/reconciliation/{id}"
	return []route{
		{method: get, path: "/reconciliation", needs: readReconciliation, handle: (*call).reconciliationsList},
		{method: get, path: "/reconciliation/new", needs: writeReconciliation, handle: (*call).reconciliationNewPage},
		{method: post, path: "/reconciliation/new", needs: writeReconciliation, limit: maxList, long: true, creates: "/reconciliation/{object}", form: "/reconciliation/new", handle: (*call).reconciliationNew},
		{method: get, path: one, needs: readReconciliation, handle: (*call).reconciliationPage},
		{method: get, path: one + "/live", needs: readReconciliation, handle: (*call).comparisonLive},
		{method: post, path: one + "/compare", needs: writeReconciliation, form: one, handle: (*call).compareList},
		{method: post, path: one + "/stop", needs: writeReconciliation, handle: (*call).stopComparison},
		{method: post, path: one + "/keep", needs: writeReconciliation, handle: (*call).keepResult},
		{method: get, path: one + "/discard", needs: writeReconciliation, handle: (*call).discardResultPage},
		{method: post, path: one + "/discard", needs: writeReconciliation, handle: (*call).discardResult},
		{method: get, path: one + "/lines/{line}/settle", needs: writeReconciliation, handle: (*call).settlePage},
		{method: post, path: one + "/lines/{line}/settle", needs: writeReconciliation, form: one + "/lines/{line}/settle", handle: (*call).settle},
		{method: get, path: one + "/lines.csv", needs: readReconciliation, long: true, handle: (*call).linesCSV},
	}
}

func reconciliationURL(reconciliation uuid.UUID) string {
	return "/reconciliation/" + reconcile.ID(reconciliation)
}

// reconciliations is the service on behalf of whoever asks.
func (k *call) reconciliations() *reconcile.Service { return k.Reconcile.By(k.by) }

// reconciliation is the one that the address names, as far as this person may see it.
func (k *call) reconciliation() (r reconcile.Reconciliation, err error) {
	named, err := id.Parse(id.Reconciliation, k.r.PathValue("id"))
	if err != nil {
		return r, errNoPage
	}
	r, err = k.Reconcile.Look(k.r.Context(), k.scope, named)
	if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
		return r, errNoPage
	}
	return r, err
}

// reconciliationPageOf is the page of a reconciliation that the person may see.
func (k *call) reconciliationPageOf(text string) string {
	sc, ok := k.access.Scope(k.session.Staff.ID, readReconciliation)
	named, err := id.Parse(id.Reconciliation, text)
	if !ok || err != nil {
		return ""
	}
	if _, err := k.Reconcile.Get(k.r.Context(), sc, named); err != nil {
		return ""
	}
	return reconciliationURL(named)
}

// reconciliationForm reads a form about it.
func (k *call) reconciliationForm() (r reconcile.Reconciliation, err error) {
	if err := k.form(); err != nil {
		return r, err
	}
	return k.reconciliation()
}

// partnerOptions are the partners at whom the person may do something, by their slugs.
func (k *call) partnerOptions(needs authz.Permission) ([]templates.Option, error) {
	sc, _ := k.access.Scope(k.session.Staff.ID, needs)
	all, err := k.Partners.List(k.r.Context(), sc)
	options := make([]templates.Option, len(all))
	for i, p := range all {
		options[i] = templates.Option{Value: p.Slug, Label: p.Name}
		if p.Name != p.Slug {
			options[i].Label += " (" + p.Slug + ")"
		}
	}
	return options, err
}

// finding is one of the findings of a comparison, in words.
type finding struct {
	models.Finding
	name, short, means string
}

// findings are all of them, in the order of their tabs.
var findings = []finding{
	{models.Matched, "Matched", "matched", "The list and the ledger say the same."},
	{models.AmountDiffers, "Amount differs", "with another amount", "The lead is in the ledger with another amount, or in another currency. A lead that was returned has 0 there."},
	{models.Unknown, "Unknown leadId", "unknown", "No lead of this partner has this id; sandbox leads count as unknown."},
	{models.Duplicated, "Duplicate", "duplicate", "The list has the lead in an earlier row, which is the one that counts."},
	{models.Missing, "Missing from the file", "missing", "Leads that we received in these days and that the list lacks."},
	{models.OutsidePeriod, "Outside the period", "outside the period", "We received the lead on another day than those that were compared."},
	{models.Unreadable, "Unreadable", "unreadable", "The row could not be read as the columns were said to be: mend the list and give it again."},
	{models.LeftOut, "Left out", "left out", "Leads that we received in these days in currencies or on accounts that the file does not cover. They were not compared."},
}

// findingOf is a finding by its name in the address.
func findingOf(name models.Finding) (f finding, known bool) {
	for _, f := range findings {
		if f.Finding == name {
			return f, true
		}
	}
	return f, false
}
