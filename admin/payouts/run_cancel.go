package payouts

import (
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) cancelRunPage(k *web.Request) error {
	r, err := h.run(k)
	if err != nil {
		return err
	}
	return h.showCancelRun(k, http.StatusOK, r, r.RowVersion, nil)
}

func (h *Handlers) showCancelRun(
	k *web.Request, status int, r models.PayoutRun, version int, mistakes ui.Errors,
) error {
	if payouts.CheckCancel(r) != nil {
		return k.Redirect(web.RunURL(r.ID)) // the run's page shows its current state
	}
	return k.Show(status, ui.Confirm(ui.ConfirmView{
		Shell: k.Shell("Cancel payout run", allRuns, ui.Link{
			Label: payouts.RunID(r.ID),
			URL:   web.RunURL(r.ID),
		}),
		Action:        web.RunURL(r.ID) + "/cancel",
		Consequence:   "First make sure that the payments have not been sent to the bank. The entries will become available for the next payout run. You cannot undo the cancellation.",
		RequireReason: true,
		StepUp:        k.StepUp(),
		Submit:        "Cancel payout run",
		Cancel:        web.RunURL(r.ID),
		CancelLabel:   "Keep payout run",
		Hidden:        []ui.Hidden{{Name: "version", Value: strconv.Itoa(version)}},
		Reason:        k.R.PostForm.Get("reason"),
		Errors:        mistakes,
	}))
}

func (h *Handlers) cancelRun(k *web.Request) error {
	run, err := h.run(k)
	if err != nil {
		return err
	}
	return k.Submit(web.Form{
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			return web.RunURL(run.ID), h.payouts(k).CancelRun(k.R.Context(), k.Scope, run.ID, k.FormRowVersion(),
				k.R.PostForm.Get("reason"))
		},
		FieldOf: web.Field("reason"),
		Show: func(r web.Rejected) error {
			if r.Err != nil && apperr.As(r.Err).Code != apperr.Invalid {
				return h.runRejected(k, "payout_run.cancel", r.Err)
			}
			return h.showCancelRun(k, r.Status, run, r.Version, r.Errors)
		},
	})
}
