package payouts_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Pages, counts, sums and exports of a ledger of many months are complete and in order. Entries of
// one month are ordered by id, even if an older month has larger ids.
func TestEntriesOfManyMonths(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	const months, perMonth = 60, 3
	account := tr.Required.Accounts[0].ID
	at := func(month int) time.Time {
		return testkit.StartTime().AddDate(0, -month, 0)
	}
	for month := range months {
		tr.DB.CreateLedgerPartitions(t, at(month))
	}
	// Every seventh month has entries. The oldest ones are added last.
	var want []int64
	for month := 0; month < months; month += 7 {
		var added []int64
		for n := range perMonth {
			added = append(added, testkit.Value[int64](t, tr.DB, `INSERT INTO ledger_entries (partner_id, account_id, kind, reference, amount_minor, currency, occurred_at)
				VALUES ($1, $2, 'adjustment', $3, 1, 'GBP', $4) RETURNING id`, tr.Required.ID, account, uuid.NewString(), at(month).Add(-time.Duration(n)*time.Minute)))
		}
		slices.Reverse(added)
		want = append(want, added...)
	}
	ids := func(entries []payouts.Entry) (all []int64) {
		for _, e := range entries {
			all = append(all, e.ID)
		}
		return all
	}
	ctx := t.Context()
	for _, f := range []payouts.Filter{{}, {Account: account, Currency: money.GBP}, {Open: true}, {From: at(months), To: at(-1)}} {
		for _, size := range []int{2, 5, 100} {
			var got []int64
			p, older := page(size), true
			var pages [][]int64
			for older {
				var all []payouts.Entry
				var newer bool
				var err error
				if all, newer, older, err = tr.Entries(ctx, scope.Everywhere, f, p); err != nil || newer != (len(got) > 0) ||
					len(all) == 0 {
					t.Fatalf("%+v after %d: got %d entries, newer %t and error %v", f, len(got), len(all), newer, err)
				}
				got = append(got, ids(all)...)
				pages = append(pages, ids(all))
				p.After = all[len(all)-1].ID
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%+v in pages of %d: got %v, want %v", f, size, got, want)
			}
			for i := len(pages) - 2; i >= 0; i-- {
				all, newer, older, err := tr.Entries(ctx, scope.Everywhere, f,
					postgres.Page[int64]{Size: size, Before: pages[i+1][0]})
				if err != nil || newer != (i > 0) || !older || !slices.Equal(ids(all), pages[i]) {
					t.Fatalf("%+v, back to page %d: got %v, newer %t and error %v, want %v", f, i, ids(all), newer, err, pages[i])
				}
			}
		}
		if n, more, err := tr.Count(ctx, scope.Everywhere, f, 1000); n != int64(len(want)) || more || err != nil {
			t.Errorf("%+v: Count returned %d, more %t and error %v, want %d", f, n, more, err, len(want))
		}
		if n, more, err := tr.Count(ctx, scope.Everywhere, f, perMonth+1); n != perMonth+1 || !more || err != nil {
			t.Errorf("%+v: Count returned %d, more %t and error %v, want more than %d", f, n, more, err, perMonth+1)
		}
		if sums, err := tr.Sums(ctx, scope.Everywhere, f); err != nil || len(sums) != 1 ||
			sums[0].Adjusted != int64(len(want)) {
			t.Errorf("%+v: got sums %+v and error %v, want %d", f, sums, err, len(want))
		}
		var streamed []int64
		err := tr.Stream(ctx, scope.Everywhere, f, func(e *payouts.Entry) error {
			streamed = append(streamed, e.ID)
			return nil
		})
		slices.Reverse(streamed)
		if err != nil || !slices.Equal(streamed, want) {
			t.Errorf("%+v: exported %v in reverse and error %v, want %v", f, streamed, err, want)
		}
	}
	all, newer, _, err := tr.Entries(ctx, scope.Everywhere, payouts.Filter{},
		postgres.Page[int64]{Size: 2, After: 1 << 40})
	if err != nil || newer || !slices.Equal(ids(all), want[:2]) {
		t.Errorf("after an entry that does not exist: got %v, newer %t and error %v, want the first page", ids(all), newer,
			err)
	}
}

// A run's entries are found in all months from its first entry to its payments.
func TestEntriesOfRunOverMonths(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.runJobs(t)
	tr.DB.CreateLedgerPartitions(t, testkit.StartTime().AddDate(0, 0, -40))
	tr.Time.Advance(-20 * 24 * time.Hour)
	if _, err := tr.Adjust(t.Context(), scope.Everywhere, payouts.NewAdjustment{ // in December
		ID: tr.NewAdjustmentID(), Account: tr.Required.Accounts[0].ID, Reason: "a correction", Amount: money.Amount{
			Minor: 5, Currency: money.GBP,
		},
	}); err != nil {
		t.Fatal(err)
	}
	tr.Time.Advance(20 * 24 * time.Hour)
	lead := tr.deliver(t, tr.Required, "GB")
	tr.Time.Advance(20 * 24 * time.Hour)
	r := tr.run(t, money.GBP, 0)
	tr.Time.Advance(20 * 24 * time.Hour)
	r = tr.pay(t, r) // in February
	if r.TotalMinor != lead.payout.Minor+5 {
		t.Errorf("got total %d, want %d", r.TotalMinor, lead.payout.Minor+5)
	}
	for f, want := range map[payouts.Filter]struct{ entries, months int }{
		{Run: r.ID}:       {3, 3},
		{Run: uuid.New()}: {0, 0},
		{Run: r.ID, Kind: models.EntryPayment, Account: tr.Required.Accounts[0].ID}: {1, 3},
		{Run: r.ID, From: r.CreatedAt.AddDate(0, 0, 10)}:                            {1, 1},
		{Run: r.ID, To: testkit.StartTime()}:                                        {1, 2},
		{Lead: lead.lead}:                                                           {1, 1},
		{Lead: uuid.New()}:                                                          {0, 0},
	} {
		if all, _, _, err := tr.Entries(t.Context(), scope.Everywhere, f, page(10)); err != nil || len(all) != want.entries {
			t.Errorf("%+v: got %d entries and error %v, want %d", f, len(all), err, want.entries)
		}
		if months, err := tr.Months(t.Context(), f); err != nil || len(months) != want.months {
			t.Errorf("%+v: reads %d months with error %v, want %d", f, len(months), err, want.months)
		}
	}
	if n := testkit.Value[int](t, tr.DB, `SELECT count(*) FROM statements WHERE first_entry_at = $1`,
		testkit.StartTime().AddDate(0, 0, -20)); n != 1 {
		t.Errorf("got %d statements with the time of the first entry, want 1", n)
	}
}

// Adding entries does not lock the partitions of other months.
func TestAddingEntriesLocksOneMonth(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	ctx := t.Context()
	tr.DB.LockLedgerPartitions(t, testkit.StartTime().AddDate(0, -1, 0))
	tr.DB.LockLedgerPartitions(t, testkit.StartTime().AddDate(0, 1, 0))
	for range 10 { // more executions than Postgres plans for their arguments by default
		if _, err := tr.Adjust(ctx, scope.Everywhere, payouts.NewAdjustment{
			ID: tr.NewAdjustmentID(), Account: tr.Required.Accounts[0].ID, Reason: "a correction", Amount: money.Amount{
				Minor: 5, Currency: money.GBP,
			},
		}); err != nil {
			t.Fatal(err)
		}
		d := tr.deliver(t, tr.Required, "GB")
		r, err := tr.RequestReturn(ctx, scope.Everywhere, d.lead, models.Duplicate, "a duplicate")
		if err == nil {
			err = tr.AcceptReturn(ctx, scope.Everywhere, r.ID, "")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
