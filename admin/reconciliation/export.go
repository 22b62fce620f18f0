package reconciliation

import (
	"io"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
)

func (h *Handlers) linesCSV(k *web.Request) error {
	r, err := h.reconciliation(k)
	if err != nil {
		return err
	}
	if r.State != models.ReconciliationCompared && r.State != models.ReconciliationSaved {
		return web.ErrNotFound
	}
	name, f := "reconciliation-"+reconcile.ID(r.ID), models.Finding(k.R.URL.Query().Get("finding"))
	if f != "" {
		if _, known := findingOf(f); !known {
			return apperr.New(apperr.Invalid, "finding",
				"This kind of finding does not exist. Choose one of the tabs on the reconciliation page.")
		}
		name += "-" + strings.ReplaceAll(string(f), "_", "-")
	}
	return k.SendCSV(name, func(to io.Writer) error {
		_, err := h.reconciliations(k).CSV(k.R.Context(), k.Scope, r.ID, f, to)
		return err
	})
}
