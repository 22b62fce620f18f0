package partners

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
)

func (h *Handlers) partnerAuditTab(k *web.Request, p models.Partner) error {
	head, err := h.head(k, p, "audit")
	if err != nil {
		return err
	}
	v := view.PartnerAuditView{Head: head}
	if !k.MayAt(web.ReadAudit, p.ID) {
		v.State.Failed = "Your roles do not include access to the audit log."
		return k.Show(http.StatusOK, view.PartnerAudit(v))
	}
	q := k.R.URL.Query()
	found, err := h.Audit.List(k.R.Context(), scope.Partners(p.ID), k.EventReader(), audit.Filter{}, web.NumberPage(q))
	if err != nil {
		return err
	}
	v.State.Hidden = k.HiddenEvents()
	v.Pager = web.AuditPager(head.URL, q, found)
	if v.Events, err = k.AuditRows(found.Events); err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.PartnerAudit(v))
}
