package reconcile_test

import (
	"flag"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
)

// earned is a lead and its accrual.
type earned struct {
	lead     uuid.UUID
	account  int
	currency string
	minor    int64
	inPeriod bool
}

// partnerHistory is a partner with three accounts and leads in three currencies. Some leads were
// delivered after the compared period.
type partnerHistory struct {
	*reconcilePlatform
	partner testkit.Partner
	leads   []earned
}

func newPartnerHistory(t testing.TB) *partnerHistory {
	t.Helper()
	o := newReconcilePlatform(t)
	w := &partnerHistory{
		reconcilePlatform: o,
		partner: o.AddPartner(t, "acme", models.SigningRequired,
			partners.NewAccount{Identifier: "acme-1", Name: "1"}, partners.NewAccount{Identifier: "acme-2", Name: "2"}, partners.NewAccount{Identifier: "acme-3", Name: "3"}),
	}
	for _, inPeriod := range []bool{true, false} {
		for account := range w.partner.Accounts {
			for _, from := range []struct{ country, currency string }{{"GB", "GBP"}, {"DE", "EUR"}, {"US", "USD"}} {
				lead, minor := o.deliverFrom(t, w.partner, account, from.country)
				w.leads = append(w.leads, earned{lead, account, from.currency, minor, inPeriod})
			}
		}
		o.Time.Advance(48 * time.Hour) // to 4 January
	}
	o.deliver(t, o.AddPartner(t, "beta", models.SigningRequired), 0)
	return w
}

func (e earned) row() string { return leadID(e.lead) + "," + decimal(e.minor) + "," + e.currency }

// pick returns the period's leads for which want returns true.
func (w *partnerHistory) pick(want func(earned) bool) (all []earned) {
	for _, l := range w.leads {
		if l.inPeriod && want(l) {
			all = append(all, l)
		}
	}
	return all
}

func (w *partnerHistory) compareRows(t testing.TB, m reconcile.Mapping, rows ...string) comparison {
	t.Helper()
	return w.compare(t, w.upload(t, w.partner.ID, append([]string{"leadId,amount,currency"}, rows...)...), m, 2)
}

// found counts the lines with the given finding, by currency.
func (c comparison) found(f models.Finding) map[string]int64 {
	n := map[string]int64{}
	for _, tally := range c.Result.Tallies {
		if tally.Finding == f {
			n[tally.Currency] += tally.Lines
		}
	}
	return n
}

func TestComparesOnlyCurrenciesAndAccountsInFile(t *testing.T) {
	t.Parallel()
	w := newPartnerHistory(t)
	all := func(earned) bool { return true }
	pounds := w.pick(func(l earned) bool { return l.currency == "GBP" })
	first := w.pick(func(l earned) bool { return l.account == 0 })
	full := inColumns
	full.Coverage = reconcile.FullCoverage
	stranger := func(currency string) string { return leadID(uuid.New()) + ",1," + currency }
	for name, c := range map[string]struct {
		mapping          reconcile.Mapping
		rows             []string
		missing, leftOut map[string]int64
		accounts         int
		currencies       []string
	}{
		"one currency, all accounts": {inColumns, []string{pounds[0].row(), pounds[1].row(), pounds[2].row()}, nil,
			map[string]int64{"EUR": 3, "USD": 3}, 0, []string{"GBP"}},
		"one currency, one account": {inColumns, []string{pounds[0].row()}, nil,
			map[string]int64{"GBP": 2, "EUR": 3, "USD": 3}, 2, []string{"GBP"}},
		"one account, two currencies": {inColumns, []string{first[0].row(), stranger(first[1].currency)}, map[string]int64{first[1].currency: 1}, map[string]int64{
			first[0].currency: 2,
			first[1].currency: 2,
			first[2].currency: 3,
		}, 2, sorted(first[0].currency, first[1].currency)},
		"only unknown leads": {inColumns, []string{stranger("EUR")}, map[string]int64{"EUR": 3},
			map[string]int64{"GBP": 3, "USD": 3}, 0, []string{"EUR"}},
		"no readable rows": {inColumns, []string{"x,1,GBP"},
			map[string]int64{"GBP": 3, "EUR": 3, "USD": 3}, nil, 0, nil},
		"full coverage": {full, []string{pounds[0].row()},
			map[string]int64{"GBP": 2, "EUR": 3, "USD": 3}, nil, 0, nil},
		"lead in another currency": {inColumns, []string{leadID(pounds[0].lead) + ",1,EUR"},
			map[string]int64{"EUR": 1}, map[string]int64{"GBP": 2, "EUR": 2, "USD": 3}, 2, []string{"EUR"}},
		"lead in an unreadable row": {inColumns,
			[]string{pounds[0].row(), leadID(first[1].lead) + ",1.234," + first[1].currency, leadID(first[1].lead) + ",,"},
			nil, nil, 2, []string{"GBP"}},
		"all leads in the file": {inColumns, rowsOf(w.pick(all)), nil, nil, 0, sorted("GBP", "EUR", "USD")},
		"duplicate row": {inColumns, append(rowsOf(pounds), pounds[0].row()), nil,
			map[string]int64{"EUR": 3, "USD": 3}, 0, []string{"GBP"}},
	} {
		got := w.compareRows(t, c.mapping, c.rows...)
		if missing := got.found(models.Missing); !maps.Equal(missing, c.missing) {
			t.Errorf("%s: missing %v, want %v", name, missing, c.missing)
		}
		leftOut := got.found(models.LeftOut)
		if c.leftOut != nil && !maps.Equal(leftOut, c.leftOut) {
			t.Errorf("%s: left out %v, want %v", name, leftOut, c.leftOut)
		}
		covered := got.Result.Covered
		if covered == nil || covered.Leads+got.Result.Counts()[models.LeftOut] != int64(len(w.pick(all))) ||
			covered.Accounts != c.accounts || len(covered.AccountNames) != c.accounts ||
			!slices.Equal(covered.Currencies, c.currencies) {
			t.Errorf("%s: covered %+v, left out %v", name, covered, leftOut)
		}
	}
}

func TestSummaryOfLeftOutAccounts(t *testing.T) {
	t.Parallel()
	for accounts, want := range map[int]string{
		1: "1 lead in GBP from an account without leads in the file (a)",
		2: "1 lead in GBP from accounts without leads in the file (a and 1 more)",
	} {
		r := reconcile.Result{
			Tallies: []reconcile.Tally{{Finding: models.LeftOut, Currency: "GBP", Lines: 1}},
			Covered: &reconcile.Covered{Currencies: []string{"GBP"}, Accounts: accounts, AccountNames: []string{"a"}},
		}
		if _, got := r.Summary(func(n int64) string { return strconv.FormatInt(n, 10) }); got != want {
			t.Errorf("%d accounts: got %q, want %q", accounts, got, want)
		}
	}
}

// The chosen coverage is suggested for the partner's next file.
func TestCoverageIsRemembered(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	full := inColumns
	full.Coverage = reconcile.FullCoverage
	row := leadID(uuid.New()) + ",1,GBP"
	o.compare(t, o.upload(t, acme.ID, "leadId,amount,currency", row), full, 2)
	next := o.upload(t, acme.ID, "leadId,amount,currency", row)
	for given, want := range map[reconcile.Coverage]reconcile.Coverage{
		"":                     reconcile.FullCoverage,
		reconcile.FileCoverage: reconcile.FileCoverage,
	} {
		if s, err := o.SuggestWith(t.Context(), next, reconcile.Mapping{Coverage: given}); err != nil || s.Coverage != want {
			t.Errorf("suggested coverage with %q given: %q (%v), want %q", given, s.Coverage, err, want)
		}
	}
}

// sorted sorts currencies in the order that results use.
func sorted(codes ...string) (all []string) {
	for _, c := range money.Currencies {
		if slices.Contains(codes, c.String()) {
			all = append(all, c.String())
		}
	}
	return all
}

func rowsOf(leads []earned) (rows []string) {
	for _, l := range leads {
		rows = append(rows, l.row())
	}
	return rows
}

// For any file, each lead in the period is either in the file, missing or left out. A lead is left
// out only if the file does not cover its currency or account.
func TestEveryLeadOfPeriodIsComparedOrLeftOut(t *testing.T) {
	t.Parallel()
	if err := flag.Set("rapid.checks", "60"); err != nil {
		t.Fatal(err)
	}
	w := newPartnerHistory(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := inColumns
		m.Coverage = rapid.SampledFrom([]reconcile.Coverage{"", reconcile.FileCoverage, reconcile.FullCoverage}).Draw(rt, "coverage")
		named, accounts, currencies := map[uuid.UUID]bool{}, map[int]bool{}, map[string]bool{}
		var rows []string
		for range rapid.IntRange(1, 12).Draw(rt, "rows") {
			l := rapid.SampledFrom(w.leads).Draw(rt, "lead")
			switch rapid.SampledFrom([]string{"good", "other currency", "unknown", "unreadable", "nonsense"}).Draw(rt, "row") {
			case "good":
				rows, named[l.lead], accounts[l.account], currencies[l.currency] = append(rows, l.row()), true, true, true
			case "other currency":
				c := rapid.SampledFrom([]string{"GBP", "EUR", "USD", "CAD"}).Draw(rt, "currency")
				rows, named[l.lead], accounts[l.account], currencies[c] = append(rows, leadID(l.lead)+",1,"+c), true, true, true
			case "unknown":
				rows, currencies[l.currency] = append(rows, leadID(uuid.New())+",1,"+l.currency), true
			case "unreadable":
				rows, named[l.lead] = append(rows, leadID(l.lead)+",1.234,"+l.currency), true
			case "nonsense":
				rows = append(rows, "total,1,"+l.currency)
			}
		}
		want := map[uuid.UUID]models.Finding{}
		for _, l := range w.leads {
			switch in := func(some, one bool) bool { return !some || one }; {
			case !l.inPeriod || named[l.lead]:
			case m.Coverage == reconcile.FullCoverage ||
				in(len(currencies) > 0, currencies[l.currency]) && in(len(accounts) > 0, accounts[l.account]):
				want[l.lead] = models.Missing
			default:
				want[l.lead] = models.LeftOut
			}
		}
		c := w.compareRows(t, m, rows...)
		found := map[uuid.UUID]models.Finding{}
		for i, l := range c.lines {
			if l.Line != i+1 {
				rt.Fatalf("line %d has number %d", i+1, l.Line)
			}
			if l.FileRow == nil {
				found[*l.LeadID] = l.Finding
			}
		}
		if !maps.Equal(found, want) {
			rt.Fatalf("findings %v, want %v", found, want)
		}
		if all := len(w.pick(func(earned) bool { return true })); c.Result.Covered.Leads+c.Result.Counts()[models.LeftOut] != int64(all) {
			rt.Fatalf("%d leads compared and %d left out, want %d in total", c.Result.Covered.Leads, c.Result.Counts()[models.LeftOut], all)
		}
	})
}
