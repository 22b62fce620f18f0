package reconciliation

import (
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) discardResultView(k *web.Request, r reconcile.Reconciliation, mistakes ui.Errors) ui.ConfirmView {
	address, what := reconciliationURL(r.ID), "The file will be deleted."
	if r.State == models.ReconciliationCompared {
		what = "The file and the result of the dry run will be deleted."
	}
	return ui.ConfirmView{
		Shell:       k.Shell("Discard reconciliation", allReconciliations, ui.Link{Label: r.FileName, URL: address}),
		Action:      address + "/discard",
		Consequence: what + " To reconcile the file later, upload it again.",
		Submit:      "Discard reconciliation",
		Cancel:      address,
		Hidden:      []ui.Hidden{{Name: "version", Value: strconv.Itoa(r.RowVersion)}},
		Errors:      mistakes,
	}
}

func (h *Handlers) discardResultPage(k *web.Request) error {
	r, err := h.reconciliation(k)
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, ui.Confirm(h.discardResultView(k, r, nil)))
}

func (h *Handlers) discardResult(k *web.Request) error {
	r, err := h.reconciliation(k)
	if err != nil {
		return err
	}
	return h.submit(k, r, nil, func() (string, error) {
		return "/reconciliation", h.reconciliations(k).Discard(k.R.Context(), k.Scope, r.ID, k.FormRowVersion())
	})
}
