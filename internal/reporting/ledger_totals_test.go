package reporting_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/reporting"
)

// commit records that all entries are committed. It must not be called while entries are added.
func (b *ledgerRollup) commit(t *testing.T) {
	t.Helper()
	b.Exec(t, `UPDATE daily_lead_counts_state SET counted_to = (SELECT max(id) FROM ledger_entries)`)
}

// totals returns ledger_totals, one row per line.
func (b *ledgerRollup) totals(t *testing.T) string {
	t.Helper()
	return testkit.Value[string](t, b.Database, `SELECT coalesce(string_agg(concat_ws(' ', month, slug, currency, entries, accrued_minor, returned_minor,
			adjusted_minor, paid_minor), E'\n' ORDER BY month, slug, currency), '')
		FROM ledger_totals t JOIN partners p ON p.id = t.account_id`)
}

func (b *ledgerRollup) updateTotals(t *testing.T) {
	t.Helper()
	if err := b.roll.UpdateTotals(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// check returns the differences that CheckTotals finds, as text.
func (b *ledgerRollup) check(t *testing.T) string {
	t.Helper()
	found, err := b.roll.CheckTotals(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, d := range found {
		all = append(all, d.Month.UTC().Format("2006-01 ")+string(rune('0'+d.Totals)))
	}
	return strings.Join(all, ", ")
}

// Months are UTC months. Only entries that are known to be committed are added, and each is added once.
func TestLedgerTotals(t *testing.T) {
	t.Parallel()
	b := newLedgerRollup(t)
	mine, theirs := b.partner(t, "mine"), b.partner(t, "theirs")
	january := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b.accrue(t, mine, january.Add(-time.Microsecond), 1)
	b.accrue(t, mine, january, 20, 4)
	b.enter(t, mine, "accrual", 7, "EUR", january)
	b.enter(t, mine, "return", -20, "GBP", january)
	b.enter(t, theirs, "adjustment", -3, "GBP", january)
	b.updateTotals(t)
	want(t, "totals before the entries are known to be committed", b.totals(t))
	b.commit(t)
	b.enter(t, mine, "payment", -4, "GBP", january)
	lines := []string{"2025-12-01 mine GBP 1 1 0 0 0", "2026-01-01 mine EUR 1 7 0 0 0", "2026-01-01 mine GBP 3 24 -20 0 0", "2026-01-01 theirs GBP 1 0 0 -3 0"}
	for range 2 {
		b.updateTotals(t)
		want(t, "totals", b.totals(t), lines...)
	}
	b.commit(t)
	b.updateTotals(t)
	lines[2] = "2026-01-01 mine GBP 4 24 -20 0 -4"
	want(t, "totals after the payment", b.totals(t), lines...)
	want(t, "differences", b.check(t))
}

// If a node dies between two steps, another one continues with the remaining entries.
func TestLedgerTotalsSurviveKilledNode(t *testing.T) {
	t.Parallel()
	b := newLedgerRollup(t)
	mine, theirs := b.partner(t, "mine"), b.partner(t, "theirs")
	b.accrue(t, theirs, testkit.StartTime(), 1)
	b.commit(t)
	b.updateTotals(t)
	fill := func(account uuid.UUID, entries int) {
		b.Exec(t, `INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
			SELECT $1, $1, gen_random_uuid(), 'accrual', n::text, 1, 'GBP', $2 FROM generate_series(1, $3::int) n`, account, testkit.StartTime(), entries)
	}
	fill(mine, 60_000) // more than one step
	fill(theirs, 10)
	b.commit(t)

	lock, err := testkit.Connect(t, b.RootURL).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Exec(t.Context(), `SELECT FROM ledger_totals WHERE account_id = $1 FOR UPDATE`, theirs); err != nil {
		t.Fatal(err)
	}
	killed := make(chan error)
	go func() { killed <- b.roll.UpdateTotals(t.Context()) }()
	testkit.Eventually(t, time.Minute, "the second step waits", func() bool {
		return testkit.Value[bool](t, b.Database,
			`SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'INSERT INTO ledger_totals%')`)
	})
	b.Exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'INSERT INTO ledger_totals%'`)
	if err := <-killed; err == nil {
		t.Error("the killed update returned no error")
	}
	if err := lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, "totals of the first step", b.totals(t), "2026-01-01 mine GBP 50000 50000 0 0 0", "2026-01-01 theirs GBP 1 1 0 0 0")
	want(t, "differences after the first step", b.check(t))
	b.updateTotals(t)
	want(t, "totals", b.totals(t), "2026-01-01 mine GBP 60000 60000 0 0 0", "2026-01-01 theirs GBP 11 11 0 0 0")
	want(t, "differences", b.check(t))
}

// A changed, missing or superfluous total is found.
func TestCheckTotalsFindsTampering(t *testing.T) {
	t.Parallel()
	b := newLedgerRollup(t)
	mine := b.partner(t, "mine")
	b.accrue(t, mine, testkit.StartTime(), 1)
	b.enter(t, mine, "accrual", 1, "EUR", testkit.StartTime())
	b.accrue(t, mine, testkit.StartTime().AddDate(0, 0, -3), 1)
	b.commit(t)
	b.updateTotals(t)
	want(t, "differences", b.check(t))
	for sql, found := range map[string]string{
		`UPDATE ledger_totals SET accrued_minor = accrued_minor + 1 WHERE month = '2026-01-01'`: "2026-01 2",
		`UPDATE ledger_totals SET entries = entries + 1 WHERE month = '2025-12-01'`:             "2025-12 1",
		`DELETE FROM ledger_totals`: "2026-01 2, 2025-12 1",
		`INSERT INTO ledger_totals SELECT gen_random_uuid(), 'GBP', month, 0, 0, 0, 0, 0 FROM ledger_totals WHERE currency = 'EUR'`: "2026-01 1",
	} {
		b.Exec(t, `CREATE TABLE saved AS TABLE ledger_totals`)
		b.Exec(t, sql)
		want(t, sql, b.check(t), found)
		b.Exec(t, `DELETE FROM ledger_totals`)
		b.Exec(t, `INSERT INTO ledger_totals TABLE saved`)
		b.Exec(t, `DROP TABLE saved`)
	}
	want(t, "differences", b.check(t))
	b.Exec(t, `UPDATE ledger_totals SET entries = entries + 1 WHERE month = '2025-12-01'`)
	want(t, "differences in December", b.check(t), "2025-12 1")
	if found, err := b.roll.CheckTotals(t.Context(), testkit.StartTime()); err != nil || len(found) > 0 {
		t.Errorf("since January: got %+v, %v, want none", found, err)
	}
}

// The check runs once a day on one node. All nodes report the number of differences.
func TestTotalsAreCheckedDaily(t *testing.T) {
	t.Parallel()
	b := newLedgerRollup(t)
	other := b.node(testkit.Open(t, b.AppURL))
	mine := b.partner(t, "mine")
	b.accrue(t, mine, testkit.StartTime().Add(-time.Hour), 1)
	b.commit(t)
	pass := func(roll *reporting.Rollup) {
		t.Helper()
		if err := roll.CheckDaily(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	reported := func(differences int64, logged int) {
		t.Helper()
		for _, roll := range []*reporting.Rollup{b.roll, other} {
			pass(roll)
			if got := roll.TotalsDifferences(); got != differences {
				t.Errorf("TotalsDifferences() = %d, want %d", got, differences)
			}
		}
		if got := b.log.Count("ledger totals differ"); got != logged {
			t.Errorf("logged %d differences, want %d", got, logged)
		}
	}
	b.updateTotals(t)
	pass(other)
	b.Exec(t, `UPDATE ledger_totals SET accrued_minor = 2`)
	reported(0, 0)
	b.clock.Advance(24 * time.Hour)
	pass(other) // b.log is its log
	reported(1, 1)
	b.Exec(t, `UPDATE ledger_totals SET accrued_minor = 1`)
	reported(1, 1)
	b.clock.Advance(24 * time.Hour)
	reported(0, 1)
}

// Run updates and checks the totals.
func TestRunUpdatesTotals(t *testing.T) {
	t.Parallel()
	b := newLedgerRollup(t)
	b.accrue(t, b.partner(t, "mine"), testkit.StartTime(), 5)
	b.commit(t)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.roll.Run(ctx) })
	testkit.Eventually(t, time.Minute, "the totals are checked", func() bool {
		return testkit.Value[bool](t, b.Database, `SELECT checked_at IS NOT NULL FROM ledger_totals_state`)
	})
	stop()
	running.Wait()
	want(t, "totals", b.totals(t), "2026-01-01 mine GBP 1 5 0 0 0")
}
