package payouts

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/id"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

// BalancesPartners is the number of partners on a page of balances.
const BalancesPartners = 25

func (h *Handlers) balancesPage(k *web.Request) error {
	q := k.R.URL.Query()
	found, err := h.Payouts.Balances(k.R.Context(), k.Scope, web.SearchText(q, "after"), web.SearchText(q, "before"),
		BalancesPartners)
	if err != nil {
		return err
	}
	v := view.BalancesView{
		Shell: k.Shell("Balances"),
		Tabs:  h.payoutTabs(k, "balances"),
		Pager: web.CursorPager("/payouts/balances", q, found.Before, found.After),
	}
	v.Pager.BySize = true
	for _, b := range found.Balances {
		account := id.Format(id.Account, b.AccountID)
		v.Balances = append(v.Balances, view.BalanceRow{
			Partner: ui.Link{Label: b.PartnerName, URL: ledgerURL(b.PartnerID, b.Partner, b.AccountID)},
			Account: ui.Link{Label: b.Identifier, URL: "/payouts?account=" + account},
			Sum:     payoutSum(b.Sum),
		})
	}
	return k.Show(http.StatusOK, view.Balances(v))
}
