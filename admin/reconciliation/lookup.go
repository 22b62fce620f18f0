package reconciliation

import (
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/id"
)

// URLForID returns the page of a reconciliation that the user may see.
func (h *Handlers) URLForID(k *web.Request, text string) string {
	sc, ok := k.ScopeOf(web.ReadReconciliation)
	named, err := id.Parse(id.Reconciliation, text)
	if !ok || err != nil {
		return ""
	}
	if _, err := h.Reconcile.Get(k.R.Context(), sc, named); err != nil {
		return ""
	}
	return reconciliationURL(named)
}
