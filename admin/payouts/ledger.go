package payouts

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

// entriesCounted is the highest number of entries that the page counts. If more entries match, the page
// offers an export that is prepared in the background.
const entriesCounted = 100_000

// statementsListed is the maximum number of statements that a partner's ledger links to.
const statementsListed = 24

var (
	LedgerFilters = []string{"partner", "account", "kind", "currency", "from", "to", "open", "lead", "run"}
	entryKinds    = []ui.Option{
		{Value: string(models.EntryAccrual), Label: "Accrual"},
		{Value: string(models.EntryReturn), Label: "Return"},
		{Value: string(models.EntryAdjustment), Label: "Adjustment"},
		{Value: string(models.EntryPayment), Label: "Payment"},
	}
	openOptions = []ui.Option{{Value: "1", Label: "Not in a run yet"}}
)

// ledgerSelection is a ledger filter and the partner that it selects.
type ledgerSelection struct {
	payouts.Filter
	partner models.Partner
}

// invalid reports whether the filter contains a partner or an account that is not valid, which the page explains.
func (f ledgerSelection) invalid() bool {
	return f.Partner == uuid.Max || f.Account == uuid.Max
}

// ledgerFilter reads the filter from a URL or a form. A value that is not valid matches no entries.
func (h *Handlers) ledgerFilter(k *web.Request, q url.Values) (f ledgerSelection, err error) {
	if f.partner, err = h.partnerNamed(k, q); err != nil {
		return f, err
	}
	f.Partner, f.Lead, f.Run = f.partner.ID, leadFilter(q, "lead"), idFilter(q, "run", id.Payout)
	f.Kind, f.Open = models.EntryKind(web.SearchText(q, "kind")), q.Get("open") != ""
	if f.Account, err = h.accountNamed(k, f.partner, strings.TrimSpace(q.Get("account"))); err != nil {
		return f, err
	}
	var valid bool
	var badDates []web.Notice
	f.Currency, valid = currencyFilter(k, q)
	f.From, f.To, badDates = web.DateRange(q)
	if k.Notices = append(k.Notices, badDates...); !valid || len(badDates) > 0 {
		f.Account = uuid.Max // matches nothing
	}
	return f, nil
}

// accountNamed returns the id of the account that was entered in a filter. If no account matches, or several do,
// accountNamed adds a notice to the page and returns uuid.Max, which matches no entries.
func (h *Handlers) accountNamed(k *web.Request, p models.Partner, text string) (uuid.UUID, error) {
	if text == "" || p.ID == uuid.Max {
		return uuid.Nil, nil
	}
	a, problem, err := k.FindAccount(k.Scope, p.ID, "account", text)
	if problem != nil {
		k.Notices = append(k.Notices, *problem)
		return uuid.Max, nil
	}
	return a.ID, err
}

func (h *Handlers) ledgerPage(k *web.Request) error {
	q := k.R.URL.Query()
	f, err := h.ledgerFilter(k, q)
	if err != nil {
		return err
	}
	return h.showLedger(k, http.StatusOK, q, f)
}

func (h *Handlers) showLedger(k *web.Request, status int, q url.Values, f ledgerSelection) error {
	entries, newer, older, err := h.Payouts.Entries(k.R.Context(), k.Scope, f.Filter, web.NumberPage(q))
	if err != nil {
		return err
	}
	n, more, err := h.Payouts.Count(k.R.Context(), k.Scope, f.Filter, entriesCounted)
	if err != nil {
		return err
	}
	v := view.LedgerView{
		Shell:      k.Shell("Ledger"),
		Tabs:       h.payoutTabs(k, "ledger"),
		Partner:    web.Short(q.Get("partner")),
		Account:    web.Short(q.Get("account")),
		Lead:       web.Short(q.Get("lead")),
		Run:        web.Short(q.Get("run")),
		From:       web.Short(q.Get("from")),
		To:         web.Short(q.Get("to")),
		Kinds:      web.SelectOption(entryKinds, q.Get("kind")),
		Currencies: currencyOptions(q.Get("currency")),
		Opens:      web.SelectOption(openOptions, q.Get("open")),
		State: ui.ListState{
			Filtered: web.IsFiltered(q, LedgerFilters...), Invalid: f.invalid(), ClearURL: "/payouts",
		},
		Export:  h.ledgerExport(k, q, n, more),
		JobsURL: "/jobs",
	}
	if k.May(web.WritePayouts) {
		v.AdjustURL, v.ReturnURL = "/payouts/adjust?partner="+web.Escape(f.partner.Slug), "/payouts/returns/new"
	}
	for _, e := range entries {
		v.Entries = append(v.Entries, h.ledgerRow(k, e))
	}
	v.Pager = web.Pager("/payouts", q, entries, newer, older, func(e payouts.Entry) string { return web.Number(e.ID) })
	if !f.invalid() {
		v.Pager.Count = web.CountText(n, more, "entry", "entries")
	}
	if err := h.ledgerSums(k, f, &v); err != nil {
		return err
	}
	return k.Show(status, view.Ledger(v))
}

// ledgerSums fills in the totals if the filter has a partner, account, lead or run. Otherwise it
// does nothing, because totals of the whole ledger would take too long.
func (h *Handlers) ledgerSums(k *web.Request, f ledgerSelection, v *view.LedgerView) error {
	if len(v.Entries) == 0 || f.Partner == uuid.Nil && f.Account == uuid.Nil && f.Lead == uuid.Nil && f.Run == uuid.Nil {
		return nil
	}
	sums, err := h.Payouts.Sums(k.R.Context(), k.Scope, f.Filter)
	if err != nil {
		return err
	}
	v.SumsOf = "these entries"
	if f.partner.Name != "" {
		v.SumsOf = f.partner.Name
	}
	for _, s := range sums {
		v.Sums = append(v.Sums, payoutSum(s))
	}
	if f.Partner == uuid.Nil {
		return nil
	}
	runs, err := h.Payouts.RunsOf(k.R.Context(), k.Scope, f.Partner, statementsListed)
	for _, r := range runs {
		v.Statements = append(v.Statements, ui.Link{
			Label: "Payout run of " + id.Time(r).Format("2 January 2006") + " (" + payouts.RunID(r) + ")",
			URL:   web.StatementURL(r, f.Partner),
		})
	}
	return err
}

func payoutSum(s payouts.Sum) view.Sum {
	in := func(minor int64) money.Amount { return money.Amount{Minor: minor, Currency: s.Currency} }
	return view.Sum{
		Entries:  s.Entries,
		Accrued:  in(s.Accrued),
		Returned: in(s.Returned),
		Adjusted: in(s.Adjusted),
		Paid:     in(s.Paid),
		Owed:     in(s.Owed()),
	}
}

func (h *Handlers) ledgerRow(k *web.Request, e payouts.Entry) view.LedgerRow {
	row := view.LedgerRow{
		Number:     e.ID,
		At:         e.OccurredAt,
		Kind:       ui.Sentence(string(e.Kind)),
		Note:       k.EntryNote(e),
		By:         e.CreatedBy,
		Partner:    k.PartnerLink(e.PartnerID, e.PartnerName),
		Identifier: e.Identifier,
		Lead:       h.leadLink(k, e.LeadID, e.PartnerID),
		RunState:   string(e.RunState),
		Amount:     e.Amount(),
		Reference:  k.Erasable(e.PartnerReference),
		SubID:      k.Erasable(e.SubID),
	}
	if e.Kind == models.EntryReturn {
		row.Return = "/payouts/returns?lead=" + row.Lead.Label
	}
	if e.Run != uuid.Nil {
		row.Run = k.RunLink(e)
	}
	return row
}
