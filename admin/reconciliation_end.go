package admin

import (
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

// stopComparison gives a comparison up that is under way; of one that is over by now,
// the page says what came of it.
func (k *call) stopComparison() error {
	r, err := k.reconciliationForm()
	if err != nil {
		return err
	}
	w, found, err := k.Jobs.Of(k.r.Context(), r.ID)
	if err != nil {
		return err
	}
	if found && r.State == models.ReconciliationComparing {
		if err := k.Jobs.Cancel(k.r.Context(), k.scope, k.by, w.ID); err != nil {
			return k.refusedReconciliation(r, nil, err)
		}
	}
	return k.to(reconciliationURL(r.ID))
}

// keepResult makes the dry run the result.
func (k *call) keepResult() error {
	r, err := k.reconciliationForm()
	if err != nil {
		return err
	}
	if err := k.reconciliations().Keep(k.r.Context(), k.scope, r.ID, k.version()); err != nil {
		return k.refusedReconciliation(r, nil, err)
	}
	return k.to(reconciliationURL(r.ID))
}

func (k *call) discardResultView(r reconcile.Reconciliation, mistakes templates.Errors) templates.ConfirmView {
	address, what := reconciliationURL(r.ID), "The file is deleted."
	if r.State == models.ReconciliationCompared {
		what = "The file and the result of the dry run are deleted."
	}
	return templates.ConfirmView{
		Shell:  k.shell("Discard this reconciliation", allReconciliations, templates.Link{Label: r.FileName, URL: address}),
		Action: address + "/discard", Consequence: what + " To reconcile the list after all, give it again.",
		Submit: "Discard", Cancel: address, Hidden: []templates.Hidden{{Name: "version", Value: strconv.Itoa(r.RowVersion)}}, Errors: mistakes,
	}
}

func (k *call) discardResultPage() error {
	r, err := k.reconciliation()
	if err != nil {
		return err
	}
	return k.show(http.StatusOK, templates.Confirm(k.discardResultView(r, nil)))
}

func (k *call) discardResult() error {
	r, err := k.reconciliationForm()
	if err != nil {
		return err
	}
	if err := k.reconciliations().Discard(k.r.Context(), k.scope, r.ID, k.version()); err != nil {
		return k.refusedReconciliation(r, nil, err)
	}
	return k.to("/reconciliation")
}
