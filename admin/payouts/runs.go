package payouts

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) requirePlatformScope(k *web.Request) error {
	if !k.Scope.All() {
		return web.ErrNotFound
	}
	return nil
}

func (h *Handlers) runsPage(k *web.Request) error {
	if err := h.requirePlatformScope(k); err != nil {
		return err
	}
	q := k.R.URL.Query()
	all, newer, older, err := h.Payouts.Runs(k.R.Context(), k.Scope, web.IDPage(q, id.Payout))
	if err != nil {
		return err
	}
	v := view.RunsView{Shell: k.Shell("Payout runs"), Tabs: h.payoutTabs(k, "runs")}
	if k.MayForAllPartners(web.WritePayouts) {
		v.NewURL = "/payouts/runs/new"
	}
	for _, r := range all {
		v.Runs = append(v.Runs, view.RunRow{
			ID:       ui.Link{Label: payouts.RunID(r.ID), URL: web.RunURL(r.ID)},
			State:    runState(r),
			Cutoff:   r.Cutoff,
			Made:     r.CreatedAt,
			Preparer: r.Preparer,
			Payouts:  r.Payouts,
			Held:     r.Held,
			Prepared: r.PreparedAt != nil,
			Total:    money.AmountOf(r.TotalMinor, r.Currency),
		})
	}
	v.Pager = web.Pager("/payouts/runs", q, all, newer, older,
		func(r models.PayoutRun) string { return payouts.RunID(r.ID) })
	return k.Show(http.StatusOK, view.Runs(v))
}
