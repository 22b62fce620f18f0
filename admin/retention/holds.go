package retention

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	view "github.com/pingpost/pingpost/templates/retention"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) holds(k *web.Request) error {
	q := k.R.URL.Query()
	all, newer, older, err := h.Erasures.Holds(k.R.Context(), k.Scope, web.IDPage(q, id.Hold))
	if err != nil {
		return err
	}
	v := view.HoldsView{Shell: k.Shell("Legal holds"), Tabs: k.PrivacyTabs()}
	for _, hold := range all {
		row := view.Hold{
			ID: id.Format(id.Hold, hold.ID), Lead: ui.Link{Label: id.Format(id.Lead, hold.LeadID)}, Person: hold.Person,
			Reason:   hold.Reason,
			PlacedAt: hold.PlacedAt, PlacedBy: hold.PlacedBy,
			ReleasedAt: web.TimeOf(hold.ReleasedAt), ReleasedBy: hold.ReleasedBy,
		}
		if k.MayAt(web.ReadLeads, hold.PartnerID) {
			row.Lead.URL = web.LeadURL(hold.LeadID)
		}
		if hold.ReleasedAt == nil && k.MayForAllPartners(web.HoldLeads) {
			row.ReleaseURL = web.HoldURL(hold)
		}
		v.Holds = append(v.Holds, row)
	}
	v.Pager = web.Pager("/privacy/holds", q, v.Holds, newer, older, func(hold view.Hold) string { return hold.ID })
	return k.Show(http.StatusOK, view.Holds(v))
}
