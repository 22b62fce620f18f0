package admin

import (
	"io"
	"strings"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
)

// linesCSV sends the lines, or those of one finding, while they are read.
func (k *call) linesCSV() error {
	r, err := k.reconciliation()
	if err != nil {
		return err
	}
	if r.State != models.ReconciliationCompared && r.State != models.ReconciliationKept {
		return errNoPage
	}
	name, f := "reconciliation-"+reconcile.ID(r.ID), models.Finding(k.r.URL.Query().Get("finding"))
	if f != "" {
		if _, known := findingOf(f); !known {
			return apperr.New(apperr.Invalid, "finding", "There is no such finding.")
		}
		name += "-" + strings.ReplaceAll(string(f), "_", "-")
	}
	return k.sendCSV(name, func(to io.Writer) error {
		_, err := k.reconciliations().CSV(k.r.Context(), k.scope, r.ID, f, to)
		return err
	})
}
