package audit

import (
	"net/http"
	"net/url"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// actionFilters are the options of the action filter. A value that ends with a dot selects all
// actions with that prefix.
var actionFilters = []ui.Option{
	{Value: "login", Label: "Sign-in"},
	{Value: "confirm", Label: "Step-up confirmation"},
	{Value: "staff.", Label: "Staff"},
	{Value: "partner.", Label: "Partners"},
	{Value: "account.", Label: "Accounts"},
	{Value: "link.", Label: "Documentation links"},
	{Value: "secret.", Label: "Signing secrets"},
	{Value: "pricing.", Label: "Prices"},
	{Value: "lead.", Label: "Leads"},
	{Value: "privacy_request.", Label: "Privacy requests"},
	{Value: "disclosures.", Label: "Disclosure texts"},
	{Value: "notes.", Label: "Notes"},
	{Value: "ledger.", Label: "Adjustments and exports"},
	{Value: "return.", Label: "Returns"},
	{Value: "payout_run.", Label: "Payout runs"},
	{Value: "job.", Label: "Jobs"},
	{Value: "reconciliation.", Label: "Reconciliations"},
	{Value: "keys.", Label: "Platform and lead keys"},
	{Value: "audit.", Label: "Audit log"},
	{Value: "console.", Label: "Rejected requests"},
}

func (h *Handlers) auditList(k *web.Request) error { return h.showAudit(k, http.StatusOK, nil) }

// auditFind searches the filtered events. The text is submitted in the form, because it can be a consumer's name, which
// must not appear in URLs or logs.
func (h *Handlers) auditFind(k *web.Request) error {
	if searchText(k) == "" {
		return k.Redirect(withFilters("/audit", k.R.URL.Query()))
	}
	return h.showAudit(k, http.StatusOK, nil)
}

func searchText(k *web.Request) string { return web.SearchText(k.R.PostForm, "text") }

func (h *Handlers) showAudit(k *web.Request, status int, chain *ui.ChainResult) error {
	q := k.R.URL.Query()
	f, mistakes := auditFilter(k)
	var found audit.ListResult
	if len(mistakes) == 0 {
		var err error
		if found, err = h.Audit.List(k.R.Context(), k.Scope, k.EventReader(), f, web.NumberPage(q)); err != nil {
			return err
		}
	}
	rows, err := k.AuditRows(found.Events)
	if err != nil {
		return err
	}
	v := ui.AuditListView{
		Shell:   k.Shell("Audit log"),
		Text:    web.Short(f.Text),
		FindURL: withFilters("/audit/find", q),
		AllURL:  withFilters("/audit", q),
		Person:  q.Get("person"),
		Object:  q.Get("object"),
		From:    q.Get("from"),
		To:      q.Get("to"),
		Actions: web.SelectOption(actionFilters, q.Get("action")),
		Kinds:   web.SelectOption(web.AuditObjects(), q.Get("kind")),
		Outcomes: web.SelectOption([]ui.Option{
			{Value: "done", Label: "Done"},
			{Value: "rejected", Label: "Rejected"},
		}, q.Get("outcome")),
		State: ui.ListState{
			Filtered: f.Text != "" || web.IsFiltered(q, auditFilters...),
			Invalid:  len(mistakes) > 0,
			ClearURL: "/audit",
			Hidden:   k.HiddenEvents(),
		},
		Events: rows,
		Pager:  web.AuditPager("/audit", q, found),
		Chain:  chain,
	}
	if f.Text != "" {
		v.Pager = web.AuditPager("/audit/find", q, found)
		v.Pager.Search = []ui.Hidden{{Name: "text", Value: f.Text}}
	}
	v.Shell.Notices = append(v.Shell.Notices, mistakes...)
	if found.Count > 0 {
		v.CSV = ui.Download{
			URL:   withFilters("/audit.csv", q),
			Label: "Export CSV",
			Holds: web.CountText(found.Count, found.CountBounded, "event", "events"),
		}
	}
	if k.May(web.VerifyAudit) {
		v.CheckURL = "/audit/verify"
	}
	return k.Show(status, ui.AuditList(v))
}

// auditFilters are the names of the filters in URLs.
var auditFilters = []string{"person", "action", "kind", "object", "outcome", "from", "to"}

// withFilters returns a URL with the filters in a query.
func withFilters(path string, q url.Values) string {
	if filters := web.SetFilters(q, auditFilters); len(filters) > 0 {
		path += "?" + filters.Encode()
	}
	return path
}

func auditFilter(k *web.Request) (f audit.Filter, mistakes []web.Notice) {
	q := k.R.URL.Query()
	f = audit.Filter{
		Text:   searchText(k),
		Actor:  web.SearchText(q, "person"),
		Action: web.SearchText(q, "action"),
		Kind:   web.SearchText(q, "kind"),
		Object: web.SearchText(q, "object"),
	}
	if lead, err := quote.ParseLead(f.Object); err == nil {
		f.Object = id.Format(id.Lead, lead)
	}
	if outcome := models.AuditOutcome(q.Get("outcome")); outcome == models.AuditDone || outcome == models.AuditRejected {
		f.Outcome = outcome
	}
	f.From, f.Until, mistakes = web.DateRange(q)
	return f, mistakes
}

// URLForID returns the URL of the audit events about the object with the given id. It returns "" if there are none, or
// the user may not see them.
func (h *Handlers) URLForID(k *web.Request, text string) string {
	sc, ok := k.ScopeOf(web.ReadAudit)
	if !ok {
		return ""
	}
	for _, kind := range []id.Kind{id.Account, id.Secret, id.Lead, id.RateCard} {
		object, err := id.Parse(kind, text)
		if err != nil {
			continue
		}
		f := audit.Filter{Object: id.Format(kind, object)}
		found, err := h.Audit.List(k.R.Context(), sc, k.EventReader(), f, audit.Page{Size: 1})
		if err == nil && found.Count > 0 {
			return "/audit?object=" + f.Object
		}
	}
	return ""
}

// auditVerify verifies the whole audit log and records the result in it.
func (h *Handlers) auditVerify(k *web.Request) error {
	verdict, err := h.Audit.Verify(k.R.Context(), "")
	if err != nil {
		return err
	}
	e := audit.Event{
		Action: "audit.verify",
		Kind:   "audit",
		After:  map[string]any{"intact": verdict.Intact(), "events": verdict.Events, "head": verdict.Head},
	}
	if err := h.Audit.LogDone(k.R.Context(), k.By, e); err != nil {
		return err
	}
	k.Scope, _ = k.ScopeOf(web.ReadAudit)
	return h.showAudit(k, http.StatusOK, &ui.ChainResult{
		Intact:   verdict.Intact(),
		Events:   verdict.Events,
		Head:     verdict.Head,
		BrokenAt: verdict.BrokenAt,
		At:       k.Now,
	})
}
