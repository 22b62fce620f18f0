//go:build !short

package payouts_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
)

// A run whose nodes are killed repeatedly claims every entry exactly once.
func TestRunSurvivesKilledNodes(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	const accounts, kills = 400, 3
	tr.DB.Exec(t, `INSERT INTO accounts (id, partner_id, identifier, name, is_default, sandbox, status, signing_mode, created_at, updated_at)
		SELECT gen_random_uuid(), $1, 'many-' || n, 'Many', false, false, 'active', 'inherit', now(), now() FROM generate_series(1, $2::int) n`, tr.Required.ID, accounts)
	tr.DB.Exec(t, `INSERT INTO ledger_entries (partner_id, account_id, kind, reference, amount_minor, currency, occurred_at)
		SELECT partner_id, id, 'adjustment', identifier || '/' || n, n, 'GBP', $1 FROM accounts, generate_series(1, 7) n WHERE name = 'Many'`, testkit.StartTime())
	tr.Time.Advance(time.Hour)
	r, err := tr.dmitri.BeginRun(t.Context(), scope.Everywhere, payouts.NewRun{Currency: money.GBP, Cutoff: tr.Time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	done := func() int64 {
		return testkit.Value[int64](t, tr.DB, `SELECT count(*) FROM statements WHERE run_id = $1`, r.ID)
	}
	blocked := func() bool {
		return testkit.Value[bool](t, tr.DB,
			`SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%payout_run_entries%')`)
	}
	root := testkit.Connect(t, tr.DB.RootURL)
	for i := range kills {
		// Claim an account's entries, so that the node blocks there in its transaction.
		lock, err := root.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lock.Exec(t.Context(), `INSERT INTO payout_run_entries (entry_id, occurred_at, run_id) SELECT id, occurred_at, $2 FROM ledger_entries
			WHERE account_id = (SELECT id FROM accounts WHERE NOT sandbox ORDER BY id OFFSET $1 LIMIT 1)`, 100*(i+1), r.ID); err != nil {
			t.Fatal(err)
		}
		node := exec.Command(os.Args[0])
		node.Env = append(os.Environ(), nodeDatabase+"="+tr.DB.AppURL, nodeTime+"="+tr.Time.Now().Format(time.RFC3339Nano))
		node.Stderr = os.Stderr
		if err := node.Start(); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, "the node waits for the claims", blocked)
		before := done()
		if err := node.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		node.Wait() // returns an error, because the node was killed
		if err := lock.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, "the killed node's statement has ended", func() bool { return !blocked() })
		if before < int64(90*(i+1)) || before >= accounts {
			t.Fatalf("killed after %d of %d statements", before, accounts)
		}
		tr.Time.Advance(time.Minute) // past the heartbeat timeout
	}
	tr.runJobs(t)
	testkit.Eventually(t, time.Minute, "the run is prepared",
		func() bool { return tr.get(t, r).State != models.RunPreparing })
	if r = tr.get(t, r); r.State != models.RunPrepared || r.Payouts != accounts || r.Entries != 7*accounts ||
		r.TotalMinor != 28*accounts {
		t.Errorf("got run %+v", r)
	}
	if n := testkit.Value[int64](t, tr.DB, `SELECT count(*) FROM payout_run_entries WHERE run_id = $1`,
		r.ID); n != 7*accounts {
		t.Errorf("got %d claimed entries, want %d", n, 7*accounts)
	}
	tr.pay(t, r)
	if got := tr.balance(t, tr.Required.ID, money.GBP); got != 0 {
		t.Errorf("got balance %d after payment, want 0", got)
	}
}
