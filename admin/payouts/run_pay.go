package payouts

import (
	"net/http"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) payRunPage(k *web.Request) error {
	r, err := h.run(k)
	if err != nil {
		return err
	}
	return h.showPayRun(k, http.StatusOK, r, r.RowVersion, nil)
}

func (h *Handlers) showPayRun(k *web.Request, status int, r models.PayoutRun, version int, mistakes ui.Errors) error {
	if payouts.CheckPay(r) != nil {
		return k.Redirect(web.RunURL(r.ID)) // the run's page shows its current state
	}
	total := money.AmountOf(r.TotalMinor, r.Currency)
	return k.Show(status, view.RunPay(view.RunPayView{
		Shell:     k.Shell("Mark payout run as paid", allRuns, ui.Link{Label: payouts.RunID(r.ID), URL: web.RunURL(r.ID)}),
		URL:       web.RunURL(r.ID),
		Total:     total,
		Payouts:   r.Payouts,
		Typed:     total.Decimal(),
		Version:   version,
		Reference: web.Short(k.R.PostForm.Get("reference")),
		Name:      web.Short(k.R.PostForm.Get("name")),
		StepUp:    k.StepUp(),
		Errors:    mistakes,
	}))
}

func (h *Handlers) payRun(k *web.Request) error {
	run, err := h.run(k)
	if err != nil {
		return err
	}
	if run.RowVersion != k.FormRowVersion() || payouts.CheckPay(run) != nil {
		return h.runRejected(k, "payout_run.pay", payouts.ErrStaleRun)
	}
	var mistakes ui.Errors
	total := money.AmountOf(run.TotalMinor, run.Currency).Decimal()
	if strings.ReplaceAll(strings.TrimSpace(k.R.PostForm.Get("name")), ",", "") != total {
		mistakes = append(mistakes, ui.FieldError{
			Field:   "name",
			Message: "The total does not match. Type " + total + " to confirm.",
		})
	}
	return k.Submit(web.Form{
		Errors: mistakes,
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			return web.RunURL(run.ID), h.payouts(k).PayRun(k.R.Context(), k.Scope, run.ID, k.FormRowVersion(),
				k.R.PostForm.Get("reference"))
		},
		Show: func(r web.Rejected) error {
			if r.Err != nil && apperr.As(r.Err).Code != apperr.Invalid {
				return h.runRejected(k, "payout_run.pay", r.Err)
			}
			return h.showPayRun(k, r.Status, run, r.Version, r.Errors)
		},
	})
}
