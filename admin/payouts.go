package admin

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

// payoutRoutes are the pages and forms about the ledger, returns and payout runs.
func (c *Console) payoutRoutes() []route {
	const get, post, ret, run, statement = http.MethodGet, http.MethodPost, "/payouts/returns/{id}", "/payouts/runs/{id}", "/payouts/runs/{id}/statements/{partner}"
	return []route{
		{method: get, path: "/payouts", needs: readPayouts, handle: (*call).ledgerPage},
		{method: get, path: "/payouts/ledger.csv", needs: exportPayouts, long: true, handle: (*call).ledgerCSV},
		{method: post, path: "/payouts/exports", needs: exportPayouts, creates: "/payouts/exports/{object}", handle: (*call).prepareExport},
		{method: get, path: "/payouts/exports/{id}", needs: exportPayouts, handle: (*call).exportPage},
		{method: get, path: "/payouts/exports/{id}/live", needs: exportPayouts, handle: (*call).exportLive},
		{method: get, path: "/payouts/exports/{id}/file", needs: exportPayouts, long: true, handle: (*call).exportFile},
		{method: get, path: "/payouts/balances", needs: readPayouts, handle: (*call).balancesPage},
		{method: get, path: "/payouts/adjust", needs: writePayouts, handle: (*call).adjustPage},
		{method: post, path: "/payouts/adjust", needs: writePayouts, form: "/payouts/adjust?partner={partner}&account={account}&currency={currency}", handle: (*call).adjust},
		{method: get, path: "/payouts/returns", needs: readPayouts, handle: (*call).returnsPage},
		{method: get, path: "/payouts/returns/new", needs: writePayouts, handle: (*call).returnNewPage},
		{method: post, path: "/payouts/returns/new", needs: writePayouts, creates: "/payouts/returns/{object}", form: "/payouts/returns/new?lead={lead}", handle: (*call).returnNew},
		{method: get, path: ret, needs: readPayouts, handle: (*call).returnPage},
		{method: post, path: ret + "/accept", needs: approvePayouts, form: ret, handle: (*call).acceptReturn},
		{method: post, path: ret + "/refuse", needs: approvePayouts, form: ret, handle: (*call).refuseReturn},
		{method: get, path: "/payouts/runs", needs: readPayouts, handle: (*call).runsPage},
		{method: get, path: "/payouts/runs/new", needs: writePayouts, handle: (*call).runNewPage},
		{method: post, path: "/payouts/runs/new", needs: writePayouts, creates: "/payouts/runs/{object}", form: "/payouts/runs/new", handle: (*call).runNew},
		{method: get, path: run, needs: readPayouts, handle: (*call).runPage},
		{method: get, path: run + "/live", needs: readPayouts, handle: (*call).runLive},
		{method: post, path: run + "/approve", needs: approvePayouts, handle: (*call).approveRun},
		{method: get, path: run + "/pay", needs: approvePayouts, handle: (*call).payRunPage},
		{method: post, path: run + "/pay", needs: approvePayouts, form: run + "/pay", handle: (*call).payRun},
		{method: get, path: run + "/cancel", needs: writePayouts, handle: (*call).cancelRunPage},
		{method: post, path: run + "/cancel", needs: writePayouts, form: run + "/cancel", handle: (*call).cancelRun},
		{method: get, path: run + "/payments.csv", needs: exportPayouts, long: true, handle: (*call).paymentsCSV},
		{method: get, path: statement, needs: readPayouts, handle: (*call).statementPage},
		{method: get, path: statement + "/entries.csv", needs: exportPayouts, long: true, handle: (*call).statementCSV},
	}
}

// payouts is the service on behalf of whoever asks.
func (k *call) payouts() *payouts.Service { return k.Payouts.By(k.by) }

// payoutTabs are the parts of the area; runs are the whole platform's.
func (k *call) payoutTabs(current string) (all []templates.Tab) {
	for _, t := range []struct{ name, label, path string }{
		{"ledger", "Ledger", "/payouts"}, {"balances", "Balances", "/payouts/balances"}, {"runs", "Runs", "/payouts/runs"}, {"returns", "Returns", "/payouts/returns"},
	} {
		if t.name != "runs" || k.scope.All() {
			all = append(all, templates.Tab{Label: t.label, URL: t.path, Current: t.name == current})
		}
	}
	return all
}

var (
	allEntries = templates.Link{Label: "Ledger", URL: "/payouts"}
	allReturns = templates.Link{Label: "Returns", URL: "/payouts/returns"}
	allRuns    = templates.Link{Label: "Payout runs", URL: "/payouts/runs"}
)

func returnURL(r uuid.UUID) string { return "/payouts/returns/" + id.Format(id.Return, r) }
func runURL(r uuid.UUID) string    { return "/payouts/runs/" + payouts.RunID(r) }
func exportURL(e uuid.UUID) string { return "/payouts/exports/" + id.Format(id.Export, e) }

func statementURL(run, partner uuid.UUID) string {
	return runURL(run) + "/statements/" + id.Format(id.Partner, partner)
}

// ledgerURL is a partner's part of the ledger. The house is found by its account alone: as
// a partner it is none that people look after.
func ledgerURL(partner uuid.UUID, name string, account uuid.UUID) string {
	if partner == models.House.Partner {
		return "/payouts?account=" + id.Format(id.Account, account)
	}
	return "/payouts?partner=" + escape(name)
}

// amountOf is a sum in a currency that the database holds, which knows the five only.
func amountOf(minor int64, code string) money.Amount {
	c, _ := money.ParseCurrency(code)
	return money.Amount{Minor: minor, Currency: c}
}

func currencyOptions(code string) []templates.Option {
	var all []templates.Option
	for c := money.GBP; c.Valid(); c++ {
		all = append(all, templates.Option{Value: c.String(), Label: c.String()})
	}
	return chosen(all, code)
}

// leadLink is a lead's id, with its page where this person may see it.
func (k *call) leadLink(lead *uuid.UUID, partner uuid.UUID) (l templates.Link) {
	if lead == nil {
		return l
	}
	l.Label = id.Format(id.Lead, *lead)
	if k.mayAt(readLeads, partner) {
		l.URL = "/leads/" + l.Label
	}
	return l
}

// objectOf reads the id of the address; what is none is no page.
func (k *call) objectOf(kind id.Kind, name string) (uuid.UUID, error) {
	object, err := id.Parse(kind, k.r.PathValue(name))
	if err != nil {
		return object, errNoPage
	}
	return object, nil
}

// partnerNamed finds the partner that a filter names by slug or id. One that is not
// there, or not theirs to see, is the one that no row has.
func (k *call) partnerNamed(q url.Values, name string) (models.Partner, error) {
	text := typed(q, name)
	if text == "" {
		return models.Partner{}, nil
	}
	p, err := k.Partners.Find(k.r.Context(), k.scope, text)
	if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
		return models.Partner{ID: uuid.Max}, nil
	}
	return p, err
}

// named reads a filter by an id; what is none is what no row has.
func named(q url.Values, name string, kind id.Kind) uuid.UUID {
	text := strings.TrimSpace(q.Get(name))
	if text == "" {
		return uuid.Nil
	}
	object, err := id.Parse(kind, text)
	if err != nil {
		return uuid.Max
	}
	return object
}

// cursor is a page's: the id that it comes before or after; what is none is the first page.
func cursor(q url.Values, name string, kind id.Kind) uuid.UUID {
	at, _ := id.Parse(kind, q.Get(name))
	return at
}

// payoutPageOf is the page of a payout run or a return.
func (k *call) payoutPageOf(text string) string {
	sc, ok := k.access.Scope(k.session.Staff.ID, readPayouts)
	if !ok {
		return ""
	}
	if object, err := id.Parse(id.Payout, text); err == nil {
		if r, err := k.Payouts.Run(k.r.Context(), sc, object); err == nil {
			return runURL(r.ID)
		}
	}
	if object, err := id.Parse(id.Return, text); err == nil {
		if r, err := k.Payouts.Return(k.r.Context(), sc, object); err == nil {
			return returnURL(r.ID)
		}
	}
	return ""
}
