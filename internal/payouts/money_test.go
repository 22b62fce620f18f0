//go:build !short

package payouts_test

import (
	"cmp"
	"flag"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// account is a partner's balance in one currency.
type account struct {
	partner  string
	currency money.Currency
}

// expectedTotals contains the totals that the ledger must have for an account. earned is the sum of
// the payouts in the answers to posts.
type expectedTotals struct{ earned, returned, adjusted, paid int64 }

// ledgerModel runs random actions and records the expected totals.
type ledgerModel struct {
	*paidLedger
	t        *testing.T
	expected map[account]*expectedTotals
	leads    []deliveredLead
	stop     func()
}

type deliveredLead struct {
	delivered
	by       testkit.Partner
	returned bool
}

func (d *ledgerModel) totals(p testkit.Partner, c money.Currency) *expectedTotals {
	a := account{p.Slug, c}
	if d.expected[a] == nil {
		d.expected[a] = &expectedTotals{}
	}
	return d.expected[a]
}

func (d *ledgerModel) partners() []testkit.Partner {
	return []testkit.Partner{d.Required, d.ReportOnly, d.Off}
}

// TestMoneyAddsUp runs random deliveries, retries, expired posts, returns, adjustments, payout runs and node restarts.
// After each action, it checks that earnings, returns and adjustments exactly equal payments and balances, and that
// earnings equal the payouts in the responses to partners.
func TestMoneyAddsUp(t *testing.T) {
	t.Parallel()
	if err := flag.Set("rapid.checks", "12"); err != nil { // about thirty steps each
		t.Fatal(err)
	}
	d := &ledgerModel{paidLedger: newPaidLedger(t), t: t, expected: map[account]*expectedTotals{}}
	d.ClaimOneAccountPerStep()
	d.stop = d.runJobs(t)
	rapid.Check(t, func(rt *rapid.T) {
		d.deliverLead(rt) // because the random steps may include no delivery
		rt.Repeat(map[string]func(*rapid.T){
			"deliver":      d.deliverLead,
			"retry":        d.retryPost,
			"expire":       d.postExpired,
			"return":       d.returnLead,
			"adjust":       d.adjustBalance,
			"run":          d.executeRun,
			"restart node": d.restartNode,
			"advance time": func(rt *rapid.T) {
				d.Time.Advance(time.Duration(rapid.IntRange(1, 48*60).Draw(rt, "minutes")) * time.Minute)
				d.DB.CreateLedgerPartitions(d.t, d.Time.Now(), d.Time.Now().AddDate(0, 0, 1))
			},
			"": d.checkTotals,
		})
	})
}

func (d *ledgerModel) anyPartner(rt *rapid.T) testkit.Partner {
	return d.partners()[rapid.IntRange(0, 2).Draw(rt, "partner")]
}

func (d *ledgerModel) deliverLead(rt *rapid.T) {
	by := d.anyPartner(rt)
	lead := d.deliver(d.t, by, rapid.SampledFrom([]string{"GB", "DE", "US"}).Draw(rt, "country"))
	d.leads = append(d.leads, deliveredLead{lead, by, false})
	d.totals(by, lead.payout.Currency).earned += lead.payout.Minor
}

func (d *ledgerModel) anyLead(rt *rapid.T) *deliveredLead {
	if len(d.leads) == 0 {
		rt.Skip("no leads yet")
	}
	return &d.leads[rapid.IntRange(0, len(d.leads)-1).Draw(rt, "lead")]
}

// retryPost sends a post again. The answer is the same while the quote is valid. Afterwards, it is an
// error.
func (d *ledgerModel) retryPost(rt *rapid.T) {
	l := d.anyLead(rt)
	again, err := d.post(d.t, l.by, 0, l.transaction)
	if f := apperr.As(err); f != nil && f.Code == apperr.Expired {
		return
	}
	if err != nil || again.lead != l.lead || again.payout != l.payout {
		rt.Fatalf("the same post again: got %+v and error %v, want %+v", again, err, l.delivered)
	}
}

func (d *ledgerModel) postExpired(rt *rapid.T) {
	by := d.anyPartner(rt)
	tx := d.quote(d.t, "GB")
	d.Time.Advance(15*time.Minute + time.Millisecond)
	if lead, err := d.post(d.t, by, 0, tx); apperr.As(err) == nil || apperr.As(err).Code != apperr.Expired {
		rt.Fatalf("a post with an expired quote: got %+v and error %v", lead, err)
	}
}

func (d *ledgerModel) returnLead(rt *rapid.T) {
	l := d.anyLead(rt)
	ctx := d.t.Context()
	r, err := d.RequestReturn(ctx, scope.Everywhere, l.lead, models.WrongContact, "the number belongs to someone else")
	switch f := apperr.As(err); {
	case l.returned && (f == nil || (f.Reason != "returned" && f.Reason != "window")):
		rt.Fatalf("returned twice: got %v", err)
	case l.returned, f != nil && f.Reason == "window":
		return
	case err != nil:
		rt.Fatal(err)
	}
	if rapid.Bool().Draw(rt, "rejected") {
		if err := d.RejectReturn(ctx, scope.Everywhere, r.ID, "the call shows otherwise"); err != nil {
			rt.Fatal(err)
		}
		return
	}
	if err := d.AcceptReturn(ctx, scope.Everywhere, r.ID, ""); err != nil {
		rt.Fatal(err)
	}
	if err := d.AcceptReturn(ctx, scope.Everywhere, r.ID, ""); apperr.As(err) == nil ||
		apperr.As(err).Reason != "decided" {
		rt.Fatalf("accepted twice: got %v", err)
	}
	l.returned = true
	d.totals(l.by, l.payout.Currency).returned -= l.payout.Minor
}

func (d *ledgerModel) adjustBalance(rt *rapid.T) {
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
	if _, err := d.Adjust(d.t.Context(), scope.Everywhere, a); apperr.As(err) == nil ||
		apperr.As(err).Reason != "adjusted" {
		rt.Fatalf("the same adjustment again: got %v", err)
	}
	d.totals(by, c).adjusted += a.Amount.Minor
}

// restartNode stops the node, possibly in the middle of a job, and starts another one.
func (d *ledgerModel) restartNode(*rapid.T) {
	d.stop()
	d.stop = d.runJobs(d.t)
}

// executeRun prepares a run, perhaps with a restart of the node, and then pays or cancels it.
func (d *ledgerModel) executeRun(rt *rapid.T) {
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
	if rapid.Bool().Draw(rt, "restart node") {
		d.restartNode(rt)
	}
	testkit.Eventually(d.t, time.Minute, "the run is prepared",
		func() bool { return d.get(d.t, r).State != models.RunPreparing })
	r = d.get(d.t, r)
	if (r.State == models.RunCancelled) != (r.Payouts == 0) {
		rt.Fatalf("got state %s for a run with %d payouts", r.State, r.Payouts)
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
	d.pay(d.t, r)
	all, _, _, err := d.Statements(ctx, scope.Everywhere, payouts.StatementQuery{
		Run:     r.ID,
		Outcome: models.StatementPays,
		Page:    postgres.Page[string]{Size: 100},
	})
	if err != nil {
		rt.Fatal(err)
	}
	var total int64
	for _, s := range all {
		d.expected[account{s.Partner, c}].paid += s.NetMinor
		total += s.NetMinor
	}
	if total != r.TotalMinor || len(all) != r.Payouts {
		rt.Fatalf("the statements pay %d to %d accounts, the run pays %d to %d", total, len(all), r.TotalMinor, r.Payouts)
	}
}

// checkTotals compares the ledger with the expected totals.
func (d *ledgerModel) checkTotals(rt *rapid.T) {
	all, err := d.Balances(d.t.Context(), scope.Everywhere, payouts.BalanceFilter{})
	if err != nil {
		rt.Fatal(err)
	}
	seen := map[account]bool{}
	for _, b := range all {
		a := account{b.Partner, b.Currency}
		seen[a] = true
		want := cmp.Or(d.expected[a], &expectedTotals{})
		if b.Accrued != want.earned || b.Returned != want.returned || b.Adjusted != want.adjusted ||
			b.Paid != -want.paid || b.Owed() != want.earned+want.returned+want.adjusted-want.paid {
			rt.Fatalf("%s, %s: got %+v, want %+v", a.partner, a.currency, b.Sum, *want)
		}
	}
	for a, want := range d.expected {
		if !seen[a] && *want != (expectedTotals{}) {
			rt.Fatalf("%s, %s: got no balance, want %+v", a.partner, a.currency, *want)
		}
	}
	var uneven []string
	err = d.DB.Gorm.Raw(`SELECT r.id::text FROM payout_runs r JOIN payout_run_entries c ON c.run_id = r.id JOIN ledger_entries e ON e.id = c.entry_id
		WHERE r.state = 'paid' GROUP BY r.id, e.account_id HAVING sum(e.amount_minor) <> 0`).Scan(&uneven).Error
	if err != nil || len(uneven) > 0 {
		rt.Fatalf("paid runs that do not sum to zero: %v (error %v)", slices.Compact(uneven), err)
	}
}
