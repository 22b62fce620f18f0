package admin

import (
	"net/http"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/templates"
)

// balancesPartners is how many partners' balances are added up for a page.
const balancesPartners = 25

func (k *call) balancesPage() error {
	q := k.r.URL.Query()
	found, err := k.Payouts.Balances(k.r.Context(), k.scope, typed(q, "after"), typed(q, "before"), balancesPartners)
	if err != nil {
		return err
	}
	v := templates.BalancesView{Shell: k.shell("Balances"), Tabs: k.payoutTabs("balances"), Pager: pagerByCursor("/payouts/balances", q, found.Before, found.After)}
	v.Pager.BySize = true
	for _, b := range found.Balances {
		account := id.Format(id.Account, b.AccountID)
		v.Balances = append(v.Balances, templates.BalanceRow{
			Partner: templates.Link{Label: b.PartnerName, URL: ledgerURL(b.PartnerID, b.Partner, b.AccountID)}, Account: templates.Link{Label: b.Identifier, URL: "/payouts?account=" + account}, Sum: payoutSum(b.Sum),
		})
	}
	return k.show(http.StatusOK, templates.Balances(v))
}
