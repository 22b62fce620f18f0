package admin

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

// entriesCounted bounds how many entries are counted, and what is better prepared as a
// file than waited for.
const entriesCounted = 100_000

// statementsListed is how many of a partner's statements its ledger leads to.
const statementsListed = 24

var (
	ledgerFilters = []string{"partner", "account", "kind", "currency", "from", "to", "open", "lead", "run"}
	entryKinds    = []templates.Option{
		{Value: string(models.EntryAccrual), Label: "Accrual"}, {Value: string(models.EntryReturn), Label: "Return"},
		{Value: string(models.EntryAdjustment), Label: "Adjustment"}, {Value: string(models.EntryPayment), Label: "Payment"},
	}
	openOptions = []templates.Option{{Value: "1", Label: "Not in a run yet"}}
)

// chosenEntries is a filter of the ledger as the service takes it, with whom it is about.
type chosenEntries struct {
	payouts.Filter
	partner  models.Partner
	mistakes []notice
}

// ledgerFilter reads the filter of an address or of a form. One that cannot be read is
// told, and chooses nothing.
func (k *call) ledgerFilter(q url.Values) (f chosenEntries, err error) {
	if f.partner, err = k.partnerNamed(q, "partner"); err != nil {
		return f, err
	}
	f.Partner, f.Lead, f.Run = f.partner.ID, named(q, "lead", id.Lead), named(q, "run", id.Payout)
	f.Kind, f.Open = models.EntryKind(typed(q, "kind")), q.Get("open") != ""
	if f.Account, err = k.accountNamed(f.partner, typed(q, "account")); err != nil {
		return f, err
	}
	if f.Account == uuid.Max && f.Partner == uuid.Nil {
		f.mistakes = append(f.mistakes, notice{Kind: "warn", Text: "An account is found by its id, ac_…, or by its partnerId once its partner is chosen too."})
	}
	if code := typed(q, "currency"); code != "" {
		if f.Currency, err = money.ParseCurrency(code); err != nil {
			f.Account, err = uuid.Max, nil // nothing is in such a currency
		}
	}
	var undated []notice
	if f.From, f.To, undated = days(q); len(undated) > 0 {
		f.Account = uuid.Max
	}
	f.mistakes = append(f.mistakes, undated...)
	return f, nil
}

// accountNamed is an account by its id, or by its partnerId where the partner is known.
func (k *call) accountNamed(p models.Partner, text string) (uuid.UUID, error) {
	if text == "" {
		return uuid.Nil, nil
	}
	if account, err := id.Parse(id.Account, text); err == nil {
		return account, nil
	}
	if p.ID == uuid.Nil || p.ID == uuid.Max {
		return uuid.Max, nil
	}
	all, err := k.Partners.Accounts(k.r.Context(), p)
	at := slices.IndexFunc(all, func(a models.Account) bool { return strings.EqualFold(a.Identifier, text) })
	if err != nil || at < 0 {
		return uuid.Max, err
	}
	return all[at].ID, nil
}

func (k *call) ledgerPage() error {
	q := k.r.URL.Query()
	f, err := k.ledgerFilter(q)
	if err != nil {
		return err
	}
	return k.showLedger(http.StatusOK, q, f)
}

func (k *call) showLedger(status int, q url.Values, f chosenEntries) error {
	entries, newer, older, err := k.Payouts.Entries(k.r.Context(), k.scope, f.Filter, pageByKey(q))
	if err != nil {
		return err
	}
	n, more, err := k.Payouts.Count(k.r.Context(), k.scope, f.Filter, entriesCounted)
	if err != nil {
		return err
	}
	k.notices = append(k.notices, f.mistakes...)
	v := templates.LedgerView{
		Shell: k.shell("Ledger"), Tabs: k.payoutTabs("ledger"), Partner: short(q.Get("partner")), Account: short(q.Get("account")), Lead: short(q.Get("lead")), Run: short(q.Get("run")),
		From: short(q.Get("from")), To: short(q.Get("to")), Kinds: chosen(entryKinds, q.Get("kind")), Currencies: currencyOptions(q.Get("currency")), Opens: chosen(openOptions, q.Get("open")),
		State: templates.ListState{Filtered: filtered(q, ledgerFilters...), ClearURL: "/payouts"}, Export: k.ledgerExport(q, n, more), WorkURL: "/work",
	}
	if k.may(writePayouts) {
		v.AdjustURL, v.ReturnURL = "/payouts/adjust?partner="+escape(f.partner.Slug), "/payouts/returns/new"
	}
	for _, e := range entries {
		v.Entries = append(v.Entries, k.ledgerRow(e))
	}
	if len(entries) > 0 {
		v.Pager = pagerByKey("/payouts", q, newer, older, entries[0].ID, entries[len(entries)-1].ID)
	}
	v.Pager.Count = countWords(n, more, "entry", "entries")
	if err := k.ledgerSums(f, &v); err != nil {
		return err
	}
	return k.show(status, templates.Ledger(v))
}

// ledgerSums are of one partner, account, lead or run: of a whole ledger nobody waits for them.
func (k *call) ledgerSums(f chosenEntries, v *templates.LedgerView) error {
	if len(v.Entries) == 0 || f.Partner == uuid.Nil && f.Account == uuid.Nil && f.Lead == uuid.Nil && f.Run == uuid.Nil {
		return nil
	}
	sums, err := k.Payouts.Sums(k.r.Context(), k.scope, f.Filter)
	if err != nil {
		return err
	}
	v.SumsOf = "what is chosen"
	if f.partner.Name != "" {
		v.SumsOf = f.partner.Name
	}
	for _, s := range sums {
		v.Sums = append(v.Sums, payoutSum(s))
	}
	if f.Partner == uuid.Nil {
		return nil
	}
	runs, err := k.Payouts.RunsOf(k.r.Context(), k.scope, f.Partner, statementsListed)
	for _, r := range runs {
		v.Statements = append(v.Statements, templates.Link{Label: payouts.RunID(r) + " of " + id.Time(r).Format("2 January 2006"), URL: statementURL(r, f.Partner)})
	}
	return err
}

func payoutSum(s payouts.Sum) templates.PayoutSum {
	in := func(minor int64) money.Amount { return money.Amount{Minor: minor, Currency: s.Currency} }
	return templates.PayoutSum{Entries: s.Entries, Accrued: in(s.Accrued), Returned: in(s.Returned), Adjusted: in(s.Adjusted), Paid: in(s.Paid), Owed: in(s.Owed())}
}

func (k *call) ledgerRow(e payouts.Entry) templates.LedgerRow {
	row := templates.LedgerRow{
		Number: e.ID, At: e.OccurredAt, Kind: string(e.Kind), Note: e.Note, By: e.MadeBy, Partner: k.partnerLink(e.PartnerID, e.PartnerName), Identifier: e.Identifier,
		Lead: k.leadLink(e.LeadID, e.PartnerID), RunState: string(e.RunState), Amount: e.Amount(),
	}
	if e.Kind == models.EntryReturn {
		row.Return = "/payouts/returns?lead=" + row.Lead.Label
	}
	if e.Run != uuid.Nil {
		row.Run = k.runLink(e)
	}
	return row
}

// runLink leads to an entry's run, or where that is not theirs to see to the partner's
// statement of it.
func (k *call) runLink(e payouts.Entry) templates.Link {
	link := templates.Link{Label: payouts.RunID(e.Run)}
	switch {
	case k.everywhere(readPayouts):
		link.URL = runURL(e.Run)
	case e.RunState != models.RunPreparing && k.mayAt(readPayouts, e.PartnerID):
		link.URL = statementURL(e.Run, e.PartnerID)
	}
	return link
}
