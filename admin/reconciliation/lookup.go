package reconciliation

import (
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
)

// URLForID returns the URL of the reconciliation with this id. It returns "" if the reconciliation does
// not exist or the user cannot see it.
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
