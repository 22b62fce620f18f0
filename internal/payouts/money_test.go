package payouts_test

import (
	"cmp"
	"flag"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// account is what a partner would write down of itself: what it was told of its leads,
// what went back, and what it was paid.
type account struct {
	partner  string
	currency money.Currency
}

type expectedTotals struct{ told, returned, adjusted, paid int64 }

// ledgerModel drives a trade at random and keeps the partners' own books beside it.
type ledgerModel struct {
	*paidLedger
	t      *testing.T
	books  map[account]*expectedTotals
	leads  []deliveredLead
	stop   func()
	checks int
}

type deliveredLead struct {
	delivered
	by       testkit.Partner
	returned bool
}

func (d *ledgerModel) book(p testkit.Partner, c money.Currency) *expectedTotals {
	a := account{p.Slug, c}
	if d.books[a] == nil {
		d.books[a] = &expectedTotals{}
	}
	return d.books[a]
}

func (d *ledgerModel) partners() []testkit.Partner {
	return []testkit.Partner{d.Required, d.ReportOnly, d.Off}
}

// TestMoneyAddsUp drives ping, post, retry, expire, return, adjustment, run, a node that
// stops halfway, and rerun, at random, and checks after each step that what was earned,
// returned and adjusted is what was paid and what is owed, to the cent, and that what was
// earned is what partners were told.
func TestMoneyAddsUp(t *testing.T) {
	t.Parallel()
	if err := flag.Set("rapid.checks", "12"); err != nil { // of some thirty steps each
		t.Fatal(err)
	}
	d := &ledgerModel{paidLedger: newPaidLedger(t), t: t, books: map[account]*expectedTotals{}}
	d.InSmallSteps()
	d.stop = d.works(t)
	rapid.Check(t, func(rt *rapid.T) {
		rt.Repeat(map[string]func(*rapid.T){
			"deliver":      d.sells,
			"retry":        d.retries,
			"expire":       d.expires,
			"return":       d.returns,
			"adjust":       d.adjusts,
			"run":          d.runs,
			"a node stops": d.restarts,
			"time passes": func(rt *rapid.T) {
				d.Time.Advance(time.Duration(rapid.IntRange(1, 48*60).Draw(rt, "minutes")) * time.Minute)
			},
			"": d.addsUp,
		})
	})
	if d.checks < 50 || len(d.leads) < 10 {
		t.Errorf("%d checks and %d leads: hardly anything was tried", d.checks, len(d.leads))
	}
}

func (d *ledgerModel) anyPartner(rt *rapid.T) testkit.Partner {
	return d.partners()[rapid.IntRange(0, 2).Draw(rt, "partner")]
}

func (d *ledgerModel) sells(rt *rapid.T) {
	by := d.anyPartner(rt)
	one := d.deliver(d.t, by, rapid.SampledFrom([]string{"GB", "DE", "US"}).Draw(rt, "country"))
	d.leads = append(d.leads, deliveredLead{one, by, false})
	d.book(by, one.payout.Currency).told += one.payout.Minor
}

func (d *ledgerModel) anyLead(rt *rapid.T) *deliveredLead {
	if len(d.leads) == 0 {
		rt.Skip("nothing was sold yet")
	}
	return &d.leads[rapid.IntRange(0, len(d.leads)-1).Draw(rt, "lead")]
}

// retries posts again what was answered already: while the quote is valid the answer is
// the same, and afterwards it says so.
func (d *ledgerModel) retries(rt *rapid.T) {
	l := d.anyLead(rt)
	again, err := d.post(d.t, l.by, 0, l.transaction)
	if f := apperr.As(err); f != nil && f.Code == apperr.Expired {
		return
	}
	if err != nil || again.lead != l.lead || again.payout != l.payout {
		rt.Fatalf("the same post again: %+v (%v), want %+v", again, err, l.delivered)
	}
}

func (d *ledgerModel) expires(rt *rapid.T) {
	by := d.anyPartner(rt)
	tx := d.quote(d.t, "GB")
	d.Time.Advance(15*time.Minute + time.Millisecond)
	if one, err := d.post(d.t, by, 0, tx); apperr.As(err) == nil || apperr.As(err).Code != apperr.Expired {
		rt.Fatalf("a post too late: %+v (%v)", one, err)
	}
}

func (d *ledgerModel) returns(rt *rapid.T) {
	l := d.anyLead(rt)
	ctx := d.t.Context()
	r, err := d.RequestReturn(ctx, scope.Everywhere, l.lead, models.WrongContact, "the number belongs to somebody else")
	switch f := apperr.As(err); {
	case l.returned && (f == nil || (f.Reason != "returned" && f.Reason != "window")):
		rt.Fatalf("returned twice: %v", err)
	case l.returned, f != nil && f.Reason == "window":
		return
	case err != nil:
		rt.Fatal(err)
	}
	if rapid.Bool().Draw(rt, "refused") {
		if err := d.RejectReturn(ctx, scope.Everywhere, r.ID, "the call shows otherwise"); err != nil {
			rt.Fatal(err)
		}
		return
	}
	if err := d.AcceptReturn(ctx, scope.Everywhere, r.ID, ""); err != nil {
		rt.Fatal(err)
	}
	if err := d.AcceptReturn(ctx, scope.Everywhere, r.ID, ""); apperr.As(err) == nil || apperr.As(err).Reason != "decided" {
		rt.Fatalf("accepted twice: %v", err)
	}
	l.returned = true
	d.book(l.by, l.payout.Currency).returned -= l.payout.Minor
}

func (d *ledgerModel) adjusts(rt *rapid.T) {
	by, c := d.anyPartner(rt), rapid.SampledFrom(money.Currencies[:3]).Draw(rt, "currency")
	a := payouts.NewAdjustment{
		ID:      d.NewAdjustmentID(),
		Account: by.Accounts[0].ID,
		Reason:  "a correction",
		Amount: money.Amount{
			Minor:    rapid.OneOf(rapid.Int64Range(-9000, -1), rapid.Int64Range(1, 9000)).Draw(rt, "minor"),
			Currency: c,
		},
	}
	if _, err := d.Adjust(d.t.Context(), scope.Everywhere, a); err != nil {
		rt.Fatal(err)
	}
	if _, err := d.Adjust(d.t.Context(), scope.Everywhere, a); apperr.As(err) == nil || apperr.As(err).Reason != "adjusted" {
		rt.Fatalf("the same adjustment again: %v", err)
	}
	d.book(by, c).adjusted += a.Amount.Minor
}

// restarts stops the node, whatever it is doing, and starts another.
func (d *ledgerModel) restarts(*rapid.T) {
	d.stop()
	d.stop = d.works(d.t)
}

// runs pays somebody, or nobody: it is prepared, on a node that may stop meanwhile, and
// then paid, or cancelled and prepared anew.
func (d *ledgerModel) runs(rt *rapid.T) {
	c := rapid.SampledFrom(money.Currencies[:3]).Draw(rt, "currency")
	ctx := d.t.Context()
	r, err := d.dmitri.BeginRun(ctx, scope.Everywhere, payouts.NewRun{
		Currency: c,
		Cutoff:   d.Time.Now(),
		Minimum:  rapid.Int64Range(0, 9000).Draw(rt, "minimum"),
	})
	if err != nil {
		rt.Fatal(err)
	}
	if rapid.Bool().Draw(rt, "the node stops") {
		d.restarts(rt)
	}
	testkit.Eventually(d.t, time.Minute, "the run is prepared", func() bool { return d.get(d.t, r).State != models.RunPreparing })
	r = d.get(d.t, r)
	if (r.State == models.RunCancelled) != (r.Payouts == 0) {
		rt.Fatalf("%d accounts are to be paid by a run that is %s", r.Payouts, r.State)
	}
	if r.Payouts == 0 {
		return
	}
	if rapid.IntRange(0, 3).Draw(rt, "cancelled") == 0 {
		if err := d.dmitri.CancelRun(ctx, scope.Everywhere, r.ID, r.RowVersion, "not now"); err != nil {
			rt.Fatal(err)
		}
		return
	}
	d.pays(d.t, r)
	all, _, _, err := d.Statements(ctx, scope.Everywhere, payouts.StatementQuery{
		Run:     r.ID,
		Outcome: models.StatementPays,
		Size:    100,
	})
	if err != nil {
		rt.Fatal(err)
	}
	var total int64
	for _, s := range all {
		d.books[account{s.Partner, c}].paid += s.NetMinor
		total += s.NetMinor
	}
	if total != r.TotalMinor || len(all) != r.Payouts {
		rt.Fatalf("the statements come to %d for %d accounts, the run says %d for %d", total, len(all), r.TotalMinor, r.Payouts)
	}
}

// addsUp compares the ledger with the partners' own books.
func (d *ledgerModel) addsUp(rt *rapid.T) {
	d.checks++
	page, err := d.Balances(d.t.Context(), scope.Everywhere, "", "", 10)
	if err != nil {
		rt.Fatal(err)
	}
	seen := map[account]bool{}
	for _, b := range page.Balances {
		a := account{b.Partner, b.Currency}
		seen[a] = true
		own := cmp.Or(d.books[a], &expectedTotals{})
		if b.Accrued != own.told || b.Returned != own.returned || b.Adjusted != own.adjusted ||
			b.Paid != -own.paid || b.Owed() != own.told+own.returned+own.adjusted-own.paid {
			rt.Fatalf("%s, %s: the ledger has %+v, the partner %+v", a.partner, a.currency, b.Sum, *own)
		}
	}
	for a, own := range d.books {
		if !seen[a] && *own != (expectedTotals{}) {
			rt.Fatalf("%s, %s is in no balance, and is %+v", a.partner, a.currency, *own)
		}
	}
	var uneven []string
	err = d.DB.Gorm.Raw(`SELECT r.id::text FROM payout_runs r JOIN payout_run_entries c ON c.run_id = r.id JOIN ledger_entries e ON e.id = c.entry_id
		WHERE r.state = 'paid' GROUP BY r.id, e.account_id HAVING sum(e.amount_minor) <> 0`).Scan(&uneven).Error
	if err != nil || len(uneven) > 0 {
		rt.Fatalf("runs that do not come to nothing: %v (%v)", slices.Compact(uneven), err)
	}
}
