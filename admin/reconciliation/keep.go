package reconciliation

import (
	"github.com/pingpost/pingpost/admin/web"
)

// saveResult saves the result of a comparison. Before its result is saved, a comparison is a dry run.
func (h *Handlers) saveResult(k *web.Request) error {
	r, err := h.reconciliation(k)
	if err != nil {
		return err
	}
	return h.submit(k, r, nil, func() (string, error) {
		return reconciliationURL(r.ID), h.reconciliations(k).Save(k.R.Context(), k.Scope, r.ID, k.FormRowVersion())
	})
}
