package payouts

import (
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/csvcell"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

// BalancesPartners is the number of partners on a page of balances.
const BalancesPartners = 25

var (
	BalanceFilters = []string{"partner", "currency", "balance"}
	balanceSigns   = []ui.Option{
		{Value: string(payouts.OwedToPartner), Label: "Owed to the partner"},
		{Value: string(payouts.OwedByPartner), Label: "Owed by the partner"},
		{Value: string(payouts.ZeroBalance), Label: "Zero"},
	}
)

// balanceFilter reads the filter from a URL. A value that is not valid matches no balances.
func (h *Handlers) balanceFilter(k *web.Request, q url.Values) (f payouts.BalanceFilter, err error) {
	p, err := h.partnerNamed(k, q)
	f.Partner, f.Sign = p.ID, payouts.BalanceSign(web.SearchText(q, "balance"))
	var valid bool
	if f.Currency, valid = currencyFilter(k, q); !valid {
		f.Partner = uuid.Max
	}
	return f, err
}

func (h *Handlers) balances(k *web.Request, q url.Values) (f payouts.BalanceFilter, all []payouts.Balance, err error) {
	if f, err = h.balanceFilter(k, q); err == nil {
		all, err = h.Payouts.Balances(k.R.Context(), k.Scope, f)
	}
	return f, all, err
}

func (h *Handlers) balancesPage(k *web.Request) error {
	f, all, err := h.balances(k, k.R.URL.Query())
	if err != nil {
		return err
	}
	return h.showBalances(k, http.StatusOK, f, all)
}

func (h *Handlers) showBalances(k *web.Request, status int, f payouts.BalanceFilter, all []payouts.Balance) error {
	q := k.R.URL.Query()
	page := payouts.PageOfBalances(all, web.SearchText(q, "after"), web.SearchText(q, "before"), BalancesPartners)
	v := view.BalancesView{
		Shell:      k.Shell("Balances"),
		Tabs:       h.payoutTabs(k, "balances"),
		Partner:    web.Short(q.Get("partner")),
		Currencies: currencyOptions(q.Get("currency")),
		Signs:      web.SelectOption(balanceSigns, q.Get("balance")),
		State: ui.ListState{
			Filtered: web.IsFiltered(q, BalanceFilters...), Invalid: f.Partner == uuid.Max, ClearURL: "/payouts/balances",
		},
		Pager: web.CursorPager("/payouts/balances", q, page.Before, page.After),
	}
	v.Pager.BySize = true
	if !v.State.Invalid {
		v.Pager.Count = ui.Plural(len(all), "balance", "balances")
	}
	for _, b := range page.Balances {
		account := id.Format(id.Account, b.AccountID)
		v.Balances = append(v.Balances, view.BalanceRow{
			Partner: ui.Link{Label: b.PartnerName, URL: ledgerURL(b.PartnerID, b.Partner, b.AccountID)},
			Account: ui.Link{Label: b.Identifier, URL: "/payouts?account=" + account},
			Sum:     payoutSum(b.Sum),
		})
	}
	for _, s := range payouts.SumBalances(all) {
		v.Sums = append(v.Sums, payoutSum(s))
	}
	if k.May(web.ExportPayouts) && len(all) > 0 {
		v.Export = ui.Download{
			URL:   "/payouts/balances.csv?" + web.SetFilters(q, BalanceFilters).Encode(),
			Label: "Export CSV",
			Holds: "The file contains " + v.Pager.Count + " and no personal data.",
		}
	}
	return k.Show(status, view.Balances(v))
}

// balanceColumns are the columns of balances.csv. Amounts are in major units, signed as in the ledger.
var balanceColumns = []string{
	"partner", "partner_name", "partner_id", "account", "currency",
	"entries", "earned", "returned", "adjusted", "paid", "owed",
}

func (h *Handlers) balancesCSV(k *web.Request) error {
	f, all, err := h.balances(k, k.R.URL.Query())
	if err != nil {
		return err
	}
	if f.Partner == uuid.Max {
		return h.showBalances(k, http.StatusUnprocessableEntity, f, all)
	}
	e := audit.Event{Action: "ledger.export_balances", Kind: "ledger", Partner: f.Partner, After: f.Describe()}
	return h.sendAuditedCSV(k, "balances-"+k.Now.UTC().Format("20060102-1504"), e, func(to io.Writer) error {
		w, err := csvcell.NewWriter(to, balanceColumns, balanceColumns[5:]...)
		for _, b := range all {
			if err == nil {
				err = w.Write(balanceRecord(b))
			}
		}
		if err == nil { // no flush after an error, so that an error page can still be sent
			err = w.Flush()
		}
		return err
	})
}

func balanceRecord(b payouts.Balance) []string {
	record := []string{
		b.Partner, b.PartnerName, b.Identifier, id.Format(id.Account, b.AccountID), b.Currency.String(),
		strconv.FormatInt(b.Entries, 10),
	}
	for _, minor := range []int64{b.Accrued, b.Returned, b.Adjusted, b.Paid, b.Owed()} {
		record = append(record, money.Amount{Minor: minor, Currency: b.Currency}.Decimal())
	}
	return record
}
