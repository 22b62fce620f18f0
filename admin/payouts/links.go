package payouts

import (
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

var (
	allEntries     = ui.Link{Label: "Ledger", URL: "/payouts"}
	allReturns     = ui.Link{Label: "Returns", URL: "/payouts/returns"}
	allAdjustments = ui.Link{Label: "Adjustments", URL: "/payouts/adjustments"}
	allRuns        = ui.Link{Label: "Payout runs", URL: "/payouts/runs"}
)

func adjustmentURL(a uuid.UUID) string { return allAdjustments.URL + "/" + payouts.AdjustmentID(a) }

func returnURL(r uuid.UUID) string { return "/payouts/returns/" + id.Format(id.Return, r) }

// ledgerURL returns the URL of a partner's ledger entries. For the platform account, the URL selects the
// account, because staff cannot select its partner.
func ledgerURL(partner uuid.UUID, name string, account uuid.UUID) string {
	if partner == models.PlatformIDs.Partner {
		return "/payouts?account=" + id.Format(id.Account, account)
	}
	return "/payouts?partner=" + web.Escape(name)
}

func (h *Handlers) leadLink(k *web.Request, lead *uuid.UUID, partner uuid.UUID) (l ui.Link) {
	if lead == nil {
		return l
	}
	l.Label = id.Format(id.Lead, *lead)
	if k.MayAt(web.ReadLeads, partner) {
		l.URL = "/leads/" + l.Label
	}
	return l
}
