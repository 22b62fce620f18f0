package payouts

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

var adjustmentStates = []ui.Option{
	{Value: string(models.AdjustmentOpen), Label: "Waiting for approval"},
	{Value: string(models.AdjustmentApproved), Label: "Approved"},
	{Value: string(models.AdjustmentRejected), Label: "Rejected"},
}

func (h *Handlers) adjustmentsPage(k *web.Request) error {
	q := k.R.URL.Query()
	partner, err := h.partnerNamed(k, q)
	if err != nil {
		return err
	}
	currency, valid := currencyFilter(k, q)
	if !valid {
		partner.ID = uuid.Max
	}
	all, newer, older, err := h.Payouts.Adjustments(k.R.Context(), k.Scope, payouts.AdjustmentQuery{
		Partner:  partner.ID,
		Currency: currency,
		State:    models.AdjustmentState(web.SearchText(q, "state")),
		Page:     web.IDPage(q, id.Adjustment),
	})
	if err != nil {
		return err
	}
	v := view.AdjustmentsView{
		Shell:      k.Shell("Adjustments"),
		Tabs:       h.payoutTabs(k, "adjustments"),
		Partner:    web.Short(q.Get("partner")),
		Currencies: currencyOptions(q.Get("currency")),
		States:     web.SelectOption(adjustmentStates, q.Get("state")),
		State: ui.ListState{
			Filtered: web.IsFiltered(q, "state", "partner", "currency"),
			Invalid:  partner.ID == uuid.Max,
			ClearURL: allAdjustments.URL,
		},
	}
	if k.May(web.WritePayouts) {
		v.AdjustURL = "/payouts/adjust?partner=" + web.Escape(partner.Slug)
	}
	for _, a := range all {
		v.Adjustments = append(v.Adjustments, h.adjustmentRow(k, a))
	}
	v.Pager = web.Pager(allAdjustments.URL, q, all, newer, older,
		func(a payouts.Adjustment) string { return payouts.AdjustmentID(a.ID) })
	return k.Show(http.StatusOK, view.Adjustments(v))
}

func (h *Handlers) adjustmentRow(k *web.Request, a payouts.Adjustment) view.AdjustmentRow {
	return view.AdjustmentRow{
		ID:          ui.Link{Label: payouts.AdjustmentID(a.ID), URL: adjustmentURL(a.ID)},
		State:       string(a.State),
		Partner:     k.PartnerLink(a.PartnerID, a.PartnerName),
		Identifier:  a.Identifier,
		Lead:        h.leadLink(k, a.LeadID, a.PartnerID),
		Amount:      money.AmountOf(a.AmountMinor, a.Currency),
		RequestedBy: a.RequestedBy,
		RequestedAt: a.RequestedAt,
	}
}
