package payouts

import (
	"github.com/pingpost/pingpost/admin/web"
)

func (h *Handlers) approveRun(k *web.Request) error {
	run, err := h.run(k)
	if err != nil {
		return err
	}
	return k.Submit(web.Form{
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			return web.RunURL(run.ID), h.payouts(k).ApproveRun(k.R.Context(), k.Scope, run.ID, k.FormRowVersion())
		},
		Show: func(r web.Rejected) error {
			if r.Err != nil {
				return h.runRejected(k, "payout_run.approve", r.Err)
			}
			return h.showRun(k, r.Status, run, nil, r.Errors)
		},
	})
}
