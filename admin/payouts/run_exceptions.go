package payouts

import (
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

// exceptionsShown is the maximum number of exceptions that the page of a run lists.
const exceptionsShown = 100

var exceptionLabels = map[payouts.ExceptionKind]string{
	payouts.LateReturns:      "Returned after the cutoff",
	payouts.LateAdjustments:  "Adjusted after the cutoff",
	payouts.OpenReturns:      "Return waiting for a decision",
	payouts.OpenAdjustments:  "Adjustment waiting for approval",
	payouts.OwingAccounts:    "Another account owes money",
	payouts.SuspendedPartner: "Partner is suspended",
	payouts.NoLegalName:      "Partner has no legal name",
}

func (h *Handlers) runExceptions(k *web.Request, r models.PayoutRun) (v view.Exceptions, err error) {
	all, err := h.Payouts.Exceptions(k.R.Context(), k.Scope, r)
	v.Total = len(all)
	for _, e := range all[:min(len(all), exceptionsShown)] {
		v.Rows = append(v.Rows, view.ExceptionRow{
			Kind:    string(e.Kind),
			Label:   ui.Link{Label: exceptionLabels[e.Kind], URL: exceptionURL(r, e)},
			Partner: k.PartnerLink(e.PartnerID, e.PartnerName),
			Count:   e.Count,
			Amount:  money.AmountOf(e.AmountMinor, r.Currency),
		})
	}
	return v, err
}

// exceptionURL returns the URL of the page that shows the exception's returns, adjustments or accounts.
func exceptionURL(r models.PayoutRun, e payouts.Exception) string {
	entries := ledgerURL(e.PartnerID, e.Partner, models.PlatformIDs.Account) +
		"&open=1&currency=" + r.Currency + "&kind="
	switch e.Kind {
	case payouts.LateReturns:
		return entries + string(models.EntryReturn)
	case payouts.LateAdjustments:
		return entries + string(models.EntryAdjustment)
	case payouts.OpenReturns:
		return allReturns.URL + "?state=" + string(models.ReturnOpen) + "&partner=" + web.Escape(e.Partner)
	case payouts.OpenAdjustments:
		return allAdjustments.URL + "?state=" + string(models.AdjustmentOpen) + "&partner=" + web.Escape(e.Partner) +
			"&currency=" + r.Currency
	default:
		return web.StatementURL(r.ID, e.PartnerID)
	}
}
