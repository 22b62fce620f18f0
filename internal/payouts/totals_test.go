package payouts_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/reporting"
)

// Transactions add entries, and some are rolled back, while two nodes count them, add them to the totals and read
// balances. A balance must include all entries that were committed before it was read, and none whose commit began
// later.
func TestBalancesAreExactDuringRollup(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	log, _ := testkit.NewLog()
	var committed, begun atomic.Int64
	var writing, reading sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range 4 {
		conn := testkit.Connect(t, tr.DB.AppURL)
		random := rand.New(rand.NewPCG(rand.Uint64(), 1))
		writing.Go(func() {
			for range 40 {
				by := []testkit.Partner{tr.Required, tr.ReportOnly, tr.Off}[random.IntN(3)]
				tx, err := conn.Begin(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				entries := 1 + random.IntN(400)
				_, err = tx.Exec(ctx, `INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
					SELECT $1, $2, gen_random_uuid(), kind, gen_random_uuid()::text, CASE kind WHEN 'accrual' THEN n ELSE -n END, currency, $3::timestamptz + n * interval '2 hours'
					FROM (SELECT n, CASE WHEN n % 50 = 0 THEN 'return' WHEN n % 70 = 0 THEN 'payment' WHEN n % 90 = 0 THEN 'adjustment' ELSE 'accrual' END AS kind,
						CASE WHEN n % 3 = 0 THEN 'EUR' ELSE 'GBP' END AS currency FROM generate_series(1, $4::int) n) AS entry`,
					by.ID, by.Accounts[0].ID, testkit.StartTime().AddDate(0, 0, -10), entries)
				if err == nil && random.IntN(4) == 0 {
					err = tx.Rollback(ctx)
				} else if err == nil {
					begun.Add(int64(entries))
					err = tx.Commit(ctx)
					committed.Add(int64(entries))
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 2 {
		db := testkit.Open(t, tr.DB.AppURL)
		caps, roll := partners.NewCaps(db, tr.Time, log), reporting.NewRollup(db, tr.Time, log)
		reading.Go(func() {
			for ctx.Err() == nil {
				least := committed.Load()
				all, err := tr.Balances(t.Context(), scope.Everywhere, payouts.BalanceFilter{})
				most := begun.Load()
				var got int64
				for _, b := range all {
					got += b.Entries
				}
				if err != nil || got < least || got > most {
					t.Errorf("balances of %d entries and error %v, want %d to %d", got, err, least, most)
				}
				if err := caps.Count(t.Context()); err != nil {
					t.Error(err)
				}
				if err := roll.UpdateTotals(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	checkBalances(t, tr)
	added := func() int64 {
		return testkit.Value[int64](t, tr.DB, `SELECT coalesce(sum(entries), 0)::bigint FROM ledger_totals`)
	}
	testkit.Eventually(t, time.Minute, "entries are added to the totals", func() bool { return added() > 0 })
	stop()
	reading.Wait()
	checkBalances(t, tr)
	roll := reporting.NewRollup(tr.DB.DB, tr.Time, log)
	if found, err := roll.CheckTotals(t.Context(), time.Time{}); err != nil || len(found) > 0 {
		t.Errorf("CheckTotals found %+v and error %v, want no differences", found, err)
	}
	if added() > committed.Load() {
		t.Errorf("the totals include %d of %d entries", added(), committed.Load())
	}
}

// checkBalances compares the balances and the sums with the ledger.
func checkBalances(t *testing.T, tr *paidLedger) {
	t.Helper()
	all, err := tr.Balances(t.Context(), scope.Everywhere, payouts.BalanceFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		var want payouts.Sum
		err := tr.DB.Pool.QueryRow(t.Context(), `SELECT count(*), coalesce(sum(amount_minor) FILTER (WHERE kind = 'accrual'), 0), coalesce(sum(amount_minor) FILTER (WHERE kind = 'return'), 0),
				coalesce(sum(amount_minor) FILTER (WHERE kind = 'adjustment'), 0), coalesce(sum(amount_minor) FILTER (WHERE kind = 'payment'), 0)
			FROM ledger_entries WHERE account_id = $1 AND currency = $2`, b.AccountID, b.Currency.String()).
			Scan(&want.Entries, &want.Accrued, &want.Returned, &want.Adjusted, &want.Paid)
		want.Currency = b.Currency
		if err != nil || b.Sum != want {
			t.Errorf("%s: got %+v and error %v, want %+v", b.Identifier, b.Sum, err, want)
		}
		// A filter with a time reads the entries. One without reads the totals.
		for _, from := range []time.Time{{}, time.Unix(0, 0)} {
			sums, err := tr.Sums(t.Context(), scope.Everywhere, payouts.Filter{Account: b.AccountID, Currency: b.Currency, From: from})
			if err != nil || !slices.Equal(sums, []payouts.Sum{want}) {
				t.Errorf("%s: got sums %+v and error %v, want %+v", b.Identifier, sums, err, want)
			}
		}
	}
	if len(all) != 6 {
		t.Errorf("got %d balances, want GBP and EUR for each of 3 accounts", len(all))
	}
}

// Sums from the totals respect the scope and the filter.
func TestSumsFromTotals(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	mine := tr.deliver(t, tr.Required, "GB")
	tr.DB.Exec(t, `UPDATE daily_lead_counts_state SET counted_to = (SELECT max(id) FROM ledger_entries)`)
	log, _ := testkit.NewLog()
	if err := reporting.NewRollup(tr.DB.DB, tr.Time, log).UpdateTotals(t.Context()); err != nil {
		t.Fatal(err)
	}
	later, theirs := tr.deliver(t, tr.Required, "GB"), tr.deliver(t, tr.Off, "DE")
	for name, c := range map[string]struct {
		sc   scope.Scope
		f    payouts.Filter
		want []payouts.Sum
	}{
		"a partner": {scope.Everywhere, payouts.Filter{Partner: tr.Required.ID},
			[]payouts.Sum{{Currency: money.GBP, Entries: 2, Accrued: mine.payout.Minor + later.payout.Minor}}},
		"an account":             {scope.Everywhere, payouts.Filter{Account: tr.Off.Accounts[0].ID}, []payouts.Sum{{Currency: money.EUR, Entries: 1, Accrued: theirs.payout.Minor}}},
		"a currency":             {scope.Everywhere, payouts.Filter{Currency: money.EUR}, []payouts.Sum{{Currency: money.EUR, Entries: 1, Accrued: theirs.payout.Minor}}},
		"a scope":                {scope.Partners(tr.Off.ID), payouts.Filter{}, []payouts.Sum{{Currency: money.EUR, Entries: 1, Accrued: theirs.payout.Minor}}},
		"a partner out of scope": {scope.Partners(tr.Off.ID), payouts.Filter{Partner: tr.Required.ID}, nil},
		"an empty scope":         {scope.Partners(), payouts.Filter{}, nil},
		"another currency":       {scope.Everywhere, payouts.Filter{Partner: tr.Required.ID, Currency: money.EUR}, nil},
	} {
		if got, err := tr.Sums(t.Context(), c.sc, c.f); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %+v and error %v, want %+v", name, got, err, c.want)
		}
	}
}
