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

var returnStates = []ui.Option{
	{Value: string(models.ReturnOpen), Label: "Waiting for a decision"},
	{Value: string(models.ReturnAccepted), Label: "Accepted"},
	{Value: string(models.ReturnRejected), Label: "Rejected"},
}

func (h *Handlers) returnsPage(k *web.Request) error {
	q := k.R.URL.Query()
	partner, err := h.partnerNamed(k, q)
	if err != nil {
		return err
	}
	query := payouts.ReturnQuery{
		Partner: partner.ID,
		Lead:    leadFilter(q, "lead"),
		State:   models.ReturnState(web.SearchText(q, "state")),
		Page:    web.IDPage(q, id.Return),
	}
	all, newer, older, err := h.Payouts.Returns(k.R.Context(), k.Scope, query)
	if err != nil {
		return err
	}
	var sellers []uuid.UUID
	for _, r := range all {
		sellers = append(sellers, r.PartnerID)
	}
	names, err := k.NamesOfPartners(sellers)
	if err != nil {
		return err
	}
	v := view.ReturnsView{
		Shell:   k.Shell("Returns"),
		Tabs:    h.payoutTabs(k, "returns"),
		Partner: web.Short(q.Get("partner")),
		Lead:    web.Short(q.Get("lead")),
		States:  web.SelectOption(returnStates, q.Get("state")),
		State: ui.ListState{
			Filtered: web.IsFiltered(q, "state", "partner", "lead"),
			Invalid:  partner.ID == uuid.Max,
			ClearURL: "/payouts/returns",
		},
	}
	if k.May(web.WritePayouts) {
		v.NewURL = "/payouts/returns/new"
	}
	for _, r := range all {
		v.Returns = append(v.Returns, view.ReturnRow{
			ID:          ui.Link{Label: id.Format(id.Return, r.ID), URL: returnURL(r.ID)},
			Lead:        h.leadLink(k, &r.LeadID, r.PartnerID),
			Partner:     names.Of(r.PartnerID),
			Reason:      ui.Sentence(payouts.ReturnReasonLabel(r.Reason)),
			State:       string(r.State),
			Amount:      money.AmountOf(r.AmountMinor, r.Currency),
			RequestedBy: r.RequestedBy,
			RequestedAt: r.RequestedAt,
		})
	}
	v.Pager = web.Pager("/payouts/returns", q, all, newer, older,
		func(r models.Return) string { return id.Format(id.Return, r.ID) })
	return k.Show(http.StatusOK, view.Returns(v))
}
