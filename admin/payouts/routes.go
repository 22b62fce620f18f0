// Package payouts is the pages and forms of the ledger, balances, returns and payout runs.
package payouts

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/jobs"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// Handlers answers the pages and forms of the ledger, balances, returns and payout runs.
type Handlers struct {
	Audit    *audit.Log
	Jobs     *jobs.Queue
	Partners *partners.Service
	Payouts  *payouts.Service
}

// Routes are the pages and forms about the ledger, returns and payout runs.
func (h *Handlers) Routes() []web.Route {
	const get, post, ret, run, statement = http.MethodGet, http.MethodPost, "/payouts/returns/{id}", "/payouts/runs/{id}", "/payouts/runs/{id}/statements/{partner}"
	return []web.Route{
		{Method: get, Path: "/payouts", Needs: web.ReadPayouts, Handle: h.ledgerPage},
		{Method: get, Path: "/payouts/ledger.csv", Needs: web.ExportPayouts, Long: true, Handle: h.ledgerCSV},
		{Method: post, Path: "/payouts/exports", Needs: web.ExportPayouts, Creates: "/payouts/exports/{object}", Handle: h.prepareExport},
		{Method: get, Path: "/payouts/exports/{id}", Needs: web.ExportPayouts, Handle: h.exportPage},
		{Method: get, Path: "/payouts/exports/{id}/live", Needs: web.ExportPayouts, Handle: h.exportLive},
		{Method: get, Path: "/payouts/exports/{id}/file", Needs: web.ExportPayouts, Long: true, Handle: h.exportFile},
		{Method: get, Path: "/payouts/balances", Needs: web.ReadPayouts, Handle: h.balancesPage},
		{Method: get, Path: "/payouts/adjust", Needs: web.WritePayouts, Handle: h.adjustPage},
		{Method: post, Path: "/payouts/adjust", Needs: web.WritePayouts, Form: "/payouts/adjust?partner={partner}&account={account}&currency={currency}", Handle: h.adjust},
		{Method: get, Path: "/payouts/returns", Needs: web.ReadPayouts, Handle: h.returnsPage},
		{Method: get, Path: "/payouts/returns/new", Needs: web.WritePayouts, Handle: h.returnNewPage},
		{Method: post, Path: "/payouts/returns/new", Needs: web.WritePayouts, Creates: "/payouts/returns/{object}", Form: "/payouts/returns/new?lead={lead}", Handle: h.returnNew},
		{Method: get, Path: ret, Needs: web.ReadPayouts, Handle: h.returnPage},
		{Method: post, Path: ret + "/accept", Needs: web.ApprovePayouts, Form: ret, Handle: h.acceptReturn},
		{Method: post, Path: ret + "/refuse", Needs: web.ApprovePayouts, Form: ret, Handle: h.refuseReturn},
		{Method: get, Path: "/payouts/runs", Needs: web.ReadPayouts, Handle: h.runsPage},
		{Method: get, Path: "/payouts/runs/new", Needs: web.WritePayouts, Handle: h.runNewPage},
		{Method: post, Path: "/payouts/runs/new", Needs: web.WritePayouts, Creates: "/payouts/runs/{object}", Form: "/payouts/runs/new", Handle: h.runNew},
		{Method: get, Path: run, Needs: web.ReadPayouts, Handle: h.runPage},
		{Method: get, Path: run + "/live", Needs: web.ReadPayouts, Handle: h.runLive},
		{Method: post, Path: run + "/approve", Needs: web.ApprovePayouts, Handle: h.approveRun},
		{Method: get, Path: run + "/pay", Needs: web.ApprovePayouts, Handle: h.payRunPage},
		{Method: post, Path: run + "/pay", Needs: web.ApprovePayouts, Form: run + "/pay", Handle: h.payRun},
		{Method: get, Path: run + "/cancel", Needs: web.WritePayouts, Handle: h.cancelRunPage},
		{Method: post, Path: run + "/cancel", Needs: web.WritePayouts, Form: run + "/cancel", Handle: h.cancelRun},
		{Method: get, Path: run + "/payments.csv", Needs: web.ExportPayouts, Long: true, Handle: h.paymentsCSV},
		{Method: get, Path: statement, Needs: web.ReadPayouts, Handle: h.statementPage},
		{Method: get, Path: statement + "/entries.csv", Needs: web.ExportPayouts, Long: true, Handle: h.statementCSV},
	}
}

// payouts is the service on behalf of whoever asks.
func (h *Handlers) payouts(k *web.Request) *payouts.Service { return h.Payouts.By(k.By) }

// payoutTabs are the parts of the area; runs are the whole platform's.
func (h *Handlers) payoutTabs(k *web.Request, current string) (all []ui.Tab) {
	for _, t := range []struct{ name, label, path string }{
		{"ledger", "Ledger", "/payouts"}, {"balances", "Balances", "/payouts/balances"}, {"runs", "Runs", "/payouts/runs"}, {"returns", "Returns", "/payouts/returns"},
	} {
		if t.name != "runs" || k.Scope.All() {
			all = append(all, ui.Tab{Label: t.label, URL: t.path, Current: t.name == current})
		}
	}
	return all
}

var (
	allEntries = ui.Link{Label: "Ledger", URL: "/payouts"}
	allReturns = ui.Link{Label: "Returns", URL: "/payouts/returns"}
	allRuns    = ui.Link{Label: "Payout runs", URL: "/payouts/runs"}
)

func returnURL(r uuid.UUID) string { return "/payouts/returns/" + id.Format(id.Return, r) }

// ledgerURL is a partner's part of the ledger. The house is found by its account alone: as
// a partner it is none that people look after.
func ledgerURL(partner uuid.UUID, name string, account uuid.UUID) string {
	if partner == models.House.Partner {
		return "/payouts?account=" + id.Format(id.Account, account)
	}
	return "/payouts?partner=" + web.Escape(name)
}

func currencyOptions(code string) []ui.Option {
	var all []ui.Option
	for c := money.GBP; c.Valid(); c++ {
		all = append(all, ui.Option{Value: c.String(), Label: c.String()})
	}
	return web.Chosen(all, code)
}

// leadLink is a lead's id, with its page where this person may see it.
func (h *Handlers) leadLink(k *web.Request, lead *uuid.UUID, partner uuid.UUID) (l ui.Link) {
	if lead == nil {
		return l
	}
	l.Label = id.Format(id.Lead, *lead)
	if k.MayAt(web.ReadLeads, partner) {
		l.URL = "/leads/" + l.Label
	}
	return l
}

// objectOf reads the id of the address; what is none is no page.
func (h *Handlers) objectOf(k *web.Request, kind id.Kind, name string) (uuid.UUID, error) {
	object, err := id.Parse(kind, k.R.PathValue(name))
	if err != nil {
		return object, web.ErrNotFound
	}
	return object, nil
}

// partnerNamed finds the partner that a filter names by slug or id. One that is not
// there, or not theirs to see, is the one that no row has.
func (h *Handlers) partnerNamed(k *web.Request, q url.Values, name string) (models.Partner, error) {
	text := web.SearchText(q, name)
	if text == "" {
		return models.Partner{}, nil
	}
	p, err := h.Partners.Find(k.R.Context(), k.Scope, text)
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
