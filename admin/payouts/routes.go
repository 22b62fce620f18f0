// Package payouts serves the pages and forms for the ledger, balances, returns and payout runs.
package payouts

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/templates/ui"
)

// Handlers serves the pages and forms for the ledger, balances, returns and payout runs.
type Handlers struct {
	Audit    *audit.Log
	Jobs     *jobs.Queue
	Partners *partners.Service
	Payouts  *payouts.Service

	ExportDays int // for how many days a prepared export is kept
}

// Routes returns the routes for the ledger, balances, returns and payout runs.
func (h *Handlers) Routes() []web.Route {
	const get, post = http.MethodGet, http.MethodPost
	return []web.Route{
		{Method: get, Path: "/payouts", Page: "Ledger", Needs: web.ReadPayouts, Handle: h.ledgerPage},
		{Method: get, Path: "/payouts/ledger.csv", Needs: web.ExportPayouts, Long: true, Erasable: true, Handle: h.ledgerCSV},
		{Method: post, Path: "/payouts/exports", Needs: web.ExportPayouts, Creates: "/payouts/exports/{object}",
			Erasable: true, Handle: h.prepareExport},
		{Method: get, Path: "/payouts/exports/{id}", Needs: web.ExportPayouts, Handle: h.exportPage},
		{Method: get, Path: "/payouts/exports/{id}/live", Needs: web.ExportPayouts, Handle: h.exportLive},
		{Method: get, Path: "/payouts/exports/{id}/file", Needs: web.ExportPayouts, Long: true, Erasable: true,
			Handle: h.exportFile},
		{Method: get, Path: "/payouts/balances", Page: "Balances", Needs: web.ReadPayouts, Handle: h.balancesPage},
		{Method: get, Path: "/payouts/balances.csv", Needs: web.ExportPayouts, Long: true, Handle: h.balancesCSV},
		{Method: get, Path: "/payouts/adjust", Page: "Adjust a balance", Needs: web.WritePayouts, Handle: h.adjustPage},
		{
			Method: post,
			Path:   "/payouts/adjust",
			Needs:  web.WritePayouts,
			Form:   "/payouts/adjust?partner={partner}&account={account}&currency={currency}",
			Saves:  []string{"partner", "account", "amount", "currency", "lead"},
			Handle: h.adjust,
		},
		{Method: get, Path: "/payouts/adjustments", Page: "Adjustments", Needs: web.ReadPayouts, Handle: h.adjustmentsPage},
		{Method: get, Path: "/payouts/adjustments/{id}", Needs: web.ReadPayouts, Handle: h.adjustmentPage},
		{
			Method: post,
			Path:   "/payouts/adjustments/{id}/approve",
			Needs:  web.ApprovePayouts,
			Form:   "/payouts/adjustments/{id}",
			Handle: h.approveAdjustment,
		},
		{
			Method: post,
			Path:   "/payouts/adjustments/{id}/reject",
			Needs:  web.ApprovePayouts,
			Form:   "/payouts/adjustments/{id}",
			Handle: h.rejectAdjustment,
		},
		{Method: get, Path: "/payouts/returns", Page: "Returns", Needs: web.ReadPayouts, Handle: h.returnsPage},
		{
			Method: get, Path: "/payouts/returns/new", Page: "Return a lead", Needs: web.WritePayouts,
			Handle: h.newReturnPage,
		},
		{
			Method:  post,
			Path:    "/payouts/returns/new",
			Needs:   web.WritePayouts,
			Creates: "/payouts/returns/{object}",
			Form:    "/payouts/returns/new?lead={lead}",
			Saves:   []string{"lead", "reason"},
			Handle:  h.requestReturn,
		},
		{Method: get, Path: "/payouts/returns/{id}", Needs: web.ReadPayouts, Handle: h.returnPage},
		{Method: post, Path: "/payouts/returns/{id}/accept", Needs: web.ApprovePayouts, Form: "/payouts/returns/{id}",
			Handle: h.acceptReturn},
		{Method: post, Path: "/payouts/returns/{id}/reject", Needs: web.ApprovePayouts, Form: "/payouts/returns/{id}",
			Handle: h.rejectReturn},
		{Method: get, Path: "/payouts/runs", Page: "Payout runs", Everywhere: true, Needs: web.ReadPayouts,
			Handle: h.runsPage},
		{Method: get, Path: "/payouts/runs/new", Page: "New payout run", Everywhere: true, Needs: web.WritePayouts,
			Handle: h.newRunPage},
		{
			Method:  post,
			Path:    "/payouts/runs/new",
			Needs:   web.WritePayouts,
			Creates: "/payouts/runs/{object}",
			Form:    "/payouts/runs/new",
			Saves:   []string{"currency", "cutoff", "minimum"},
			Handle:  h.beginRun,
		},
		{Method: get, Path: "/payouts/runs/{id}", Needs: web.ReadPayouts, Handle: h.runPage},
		{Method: get, Path: "/payouts/runs/{id}/live", Needs: web.ReadPayouts, Handle: h.runLive},
		{Method: post, Path: "/payouts/runs/{id}/approve", Needs: web.ApprovePayouts, Handle: h.approveRun},
		{Method: get, Path: "/payouts/runs/{id}/pay", Needs: web.ApprovePayouts, Handle: h.payRunPage},
		{
			Method: post,
			Path:   "/payouts/runs/{id}/pay",
			Needs:  web.ApprovePayouts,
			Form:   "/payouts/runs/{id}/pay",
			Saves:  []string{"reference"},
			Handle: h.payRun,
		},
		{Method: get, Path: "/payouts/runs/{id}/cancel", Needs: web.WritePayouts, Handle: h.cancelRunPage},
		{Method: post, Path: "/payouts/runs/{id}/cancel", Needs: web.WritePayouts, Form: "/payouts/runs/{id}/cancel",
			Handle: h.cancelRun},
		{Method: get, Path: "/payouts/runs/{id}/payments.csv", Needs: web.ExportPayouts, Long: true, Handle: h.paymentsCSV},
		{Method: get, Path: "/payouts/runs/{id}/statements/{partner}", Needs: web.ReadPayouts, Handle: h.statementPage},
		{Method: get, Path: "/payouts/runs/{id}/statements/{partner}/entries.csv", Needs: web.ExportPayouts, Long: true,
			Erasable: true, Handle: h.statementCSV},
	}
}

func (h *Handlers) payouts(k *web.Request) *payouts.Service { return h.Payouts.By(k.By) }

// payoutTabs returns the tabs of the payout pages. Users whose scope is limited to some partners have no
// tab for payout runs.
func (h *Handlers) payoutTabs(k *web.Request, current string) (all []ui.Tab) {
	for _, t := range []struct{ name, label, path string }{
		{"ledger", "Ledger", "/payouts"},
		{"balances", "Balances", "/payouts/balances"},
		{"runs", "Runs", "/payouts/runs"},
		{"returns", "Returns", "/payouts/returns"},
		{"adjustments", "Adjustments", "/payouts/adjustments"},
	} {
		if t.name != "runs" || k.Scope.All() {
			all = append(all, ui.Tab{Label: t.label, URL: t.path, Current: t.name == current})
		}
	}
	return all
}
