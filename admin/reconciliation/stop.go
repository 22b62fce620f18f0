package reconciliation

import (
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/models"
)

// stopComparison cancels a running comparison. If the comparison has already ended, stopComparison
// redirects to the result.
func (h *Handlers) stopComparison(k *web.Request) error {
	r, err := h.reconciliation(k)
	if err != nil {
		return err
	}
	w, found, err := h.Jobs.Latest(k.R.Context(), r.ID)
	if err != nil {
		return err
	}
	return h.submit(k, r, nil, func() (_ string, err error) {
		if found && r.State == models.ReconciliationComparing {
			err = h.Jobs.Cancel(k.R.Context(), k.Scope, k.By, w.ID)
		}
		return reconciliationURL(r.ID), err
	})
}
