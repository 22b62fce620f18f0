package payouts_test

import (
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/models"
)

// Leads are erased while a run with them is prepared, approved and paid. The run and the ledger do not
// change.
func TestErasureBesideRun(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.runJobs(t)
	const leads = 24
	eraser := erasure.NewService(tr.DB.DB, tr.Wrappers, tr.Keys, journal.Folder(t.TempDir()), tr.Time, erasure.Settings{})
	var all []delivered
	var total int64
	for range leads {
		d := tr.deliver(t, tr.Required, "GB")
		total += d.payout.Minor
		all = append(all, d)
	}
	ledger := func() string {
		return testkit.Value[string](t, tr.DB,
			`SELECT md5(string_agg(e::text, ';' ORDER BY id)) FROM ledger_entries e WHERE kind = 'accrual'`)
	}
	before := ledger()
	tr.Time.Advance(time.Hour)
	var erasures sync.WaitGroup
	for i := range 4 {
		erasures.Go(func() {
			for _, d := range all[i*leads/4 : (i+1)*leads/4] {
				if _, err := eraser.Erase(t.Context(), scope.System,
					erasure.NewErasure{Lead: d.lead, Reason: models.EraseForRequest}); err != nil {
					t.Errorf("erase: %v", err)
				}
			}
		})
	}
	r := tr.pay(t, tr.run(t, money.GBP, 0))
	erasures.Wait()
	if r.State != models.RunPaid || r.Entries != leads || r.TotalMinor != total {
		t.Errorf("got run %+v, want %d leads with a total of %d", r, leads, total)
	}
	if ledger() != before {
		t.Error("the erasures changed the ledger")
	}
	if n := testkit.Value[int](t, tr.DB, `SELECT count(*) FROM leads WHERE state = 'erased'`); n != leads {
		t.Errorf("%d leads are erased, want %d", n, leads)
	}
	if got := tr.balance(t, tr.Required.ID, money.GBP); got != 0 {
		t.Errorf("got balance %d after payment, want 0", got)
	}
}
