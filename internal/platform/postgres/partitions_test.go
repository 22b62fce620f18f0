package postgres_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// The first partition is for the day before, for requests around midnight.
func TestPingPartitions(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	newYear := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := d.EnsurePingPartitions(t.Context(), newYear, 2); err != nil {
		t.Fatal(err)
	}
	if got, want := d.PingPartitions(t), []string{"pings_20241231", "pings_20250101", "pings_20250102", "pings_20250103"}; !slices.Equal(got, want) {
		t.Errorf("got partitions %v, want %v", got, want)
	}
	if n, err := d.DropPingPartitions(t.Context(), newYear.AddDate(0, 0, 1).Add(23*time.Hour)); err != nil || n != 2 {
		t.Errorf("dropped %d (%v), want the 2 whole days before", n, err)
	}
	if got, want := d.PingPartitions(t), []string{"pings_20250102", "pings_20250103"}; !slices.Equal(got, want) {
		t.Errorf("got partitions %v, want %v", got, want)
	}
}

// Dropping a partition that a long transaction reads does not delay new pings. The partition is
// dropped after the transaction has ended.
func TestDropPingPartitionsDoesNotDelayPings(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	newYear := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := d.EnsurePingPartitions(t.Context(), newYear, 2); err != nil {
		t.Fatal(err)
	}
	reader := testkit.Connect(t, d.AppURL)
	if _, err := reader.Exec(t.Context(), `BEGIN; SELECT FROM pings WHERE issued_at < '2025-01-01'`); err != nil {
		t.Fatal(err)
	}
	type result struct {
		dropped int64
		err     error
	}
	done := make(chan result, 1)
	go func() {
		n, err := d.DropPingPartitions(t.Context(), newYear)
		done <- result{n, err}
	}()
	d.AwaitLockOn(t, "pings")
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		_, err := d.Pool.Exec(ctx, `INSERT INTO pings (issued_at, sandbox, term_id, country, postcode, urgency, job_type, budget, outcome, price_minor, currency, card_version, duration_us)
			VALUES ('2025-01-02 12:00+00', false, 1, 'GB', 'SW1A 1AA', '', '', '', 'excluded', 0, 'GBP', 1, 1)`)
		cancel()
		if err != nil {
			t.Fatalf("a ping waited for the partition to be dropped: %v", err)
		}
	}
	if _, err := reader.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.err != nil || r.dropped != 1 {
		t.Errorf("dropped %d (%v), want 1", r.dropped, r.err)
	}
}

// A horizon ends at the first gap, and is zero while the current partition is missing.
func TestHorizons(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	may := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	horizon := func(table string) postgres.Horizon {
		t.Helper()
		all, err := d.Horizons(t.Context(), may)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all, func(h postgres.Horizon) bool { return h.Table == table })
		if i < 0 {
			t.Fatalf("no horizon for %s in %v", table, all)
		}
		return all[i]
	}
	for _, c := range []struct {
		table string
		posts bool
	}{
		{"leads", true},
		{"lead_keys", true},
		{"consents", true},
		{"lead_events", true},
		{"ledger_entries", true},
		{"payout_run_entries", false},
		{"pings", false},
	} {
		create := func(from, until string) {
			t.Helper()
			d.Exec(t, `SELECT create_partitions(ARRAY[$1], 'month', $2::timestamptz, $3::timestamptz)`, c.table, from, until)
		}
		if h := horizon(c.table); !h.Until.IsZero() || h.Posts != c.posts {
			t.Errorf("%s without partitions: got %+v", c.table, h)
		}
		create("2031-06-01", "2031-06-01")
		if h := horizon(c.table); !h.Until.IsZero() {
			t.Errorf("%s without the current partition: got %s", c.table, h.Until)
		}
		create("2031-08-01", "2031-08-01")
		create("2031-05-01", "2031-05-01")
		if h := horizon(c.table); !h.Until.Equal(time.Date(2031, 7, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%s with a gap in July: got %s, want 1 July", c.table, h.Until)
		}
	}
}

// If a partition was detached, create_partitions attaches it again with its rows.
func TestDetachedPartitionIsAttachedAgain(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	ensure := func() {
		t.Helper()
		if err := d.EnsurePartitions(t.Context(), now, postgres.Monthly); err != nil {
			t.Fatal(err)
		}
	}
	ensure()
	d.Exec(t, insertPing, now)
	triggers := `SELECT count(*) FROM pg_trigger WHERE tgrelid = 'ledger_entries_20310501'::regclass`
	before := testkit.Value[int](t, d, triggers)
	d.Exec(t, `ALTER TABLE pings DETACH PARTITION pings_20310506`)
	d.Exec(t, `ALTER TABLE ledger_entries DETACH PARTITION ledger_entries_20310501`)
	ensure()
	if n := testkit.Value[int](t, d, `SELECT count(*) FROM pings WHERE issued_at > '2031-05-06'`); n != 1 {
		t.Errorf("got %d pings in the attached partition, want 1", n)
	}
	if after := testkit.Value[int](t, d, triggers); after != before {
		t.Errorf("got %d triggers on the attached partition, want %d", after, before)
	}
}

// A partition that is being detached concurrently accepts no rows, so it counts as missing. EnsurePartitions
// completes what was interrupted and attaches the partition again with its rows, even if new partitions are
// shorter.
func TestDetachingPartitionIsAttachedAgain(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	if err := d.EnsurePartitions(t.Context(), now, postgres.Monthly); err != nil {
		t.Fatal(err)
	}
	d.Exec(t, insertPing, now)
	current := func(table string) bool {
		t.Helper()
		horizons, err := d.Horizons(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(horizons, func(h postgres.Horizon) bool { return h.Table == table && !h.Until.IsZero() })
	}
	owner := testkit.Connect(t, d.OwnerURL)
	if _, err := owner.Exec(t.Context(), `SET lock_timeout = '100ms'`); err != nil {
		t.Fatal(err)
	}
	for table, partition := range map[string]string{"pings": "pings_20310506", "leads": "leads_20310501"} {
		backup := testkit.Connect(t, d.RootURL)
		if _, err := backup.Exec(t.Context(), `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM `+table); err != nil {
			t.Fatal(err)
		}
		for _, waits := range []string{
			`ALTER TABLE ` + table + ` DETACH PARTITION ` + partition + ` CONCURRENTLY`,
			`SELECT create_partitions('{` + table + `}', 'week', '2031-05-06', '2031-05-06')`,
		} {
			_, err := owner.Exec(t.Context(), waits)
			if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "55P03" {
				t.Fatalf("%s: got %v, want a lock timeout", waits, err)
			}
			if current(table) {
				t.Errorf("after %s, the partition is not missing", waits)
			}
		}
		if _, err := backup.Exec(t.Context(), `COMMIT`); err != nil {
			t.Fatal(err)
		}
		if err := d.EnsurePartitions(t.Context(), now, postgres.Weekly); err != nil || !current(table) {
			t.Errorf("%s: the partition is not attached again: %v", table, err)
		}
	}
	if n := testkit.Value[int](t, d, `SELECT count(*) FROM pings WHERE issued_at > '2031-05-06'`); n != 1 {
		t.Errorf("got %d pings in the attached partition, want 1", n)
	}
}

// If a detached partition contains rows of another period, it cannot be attached. The error must not refer to the
// missing partition, which is what it was meant to fix.
func TestRowsOfAnotherPeriodAreReported(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	if err := d.EnsurePingPartitions(t.Context(), now, 1); err != nil {
		t.Fatal(err)
	}
	d.Exec(t, `ALTER TABLE pings DETACH PARTITION pings_20310506`)
	d.Exec(t, strings.Replace(insertPing, "INTO pings", "INTO pings_20310506", 1), now.AddDate(0, 1, 0))
	err := d.EnsurePingPartitions(t.Context(), now, 1)
	if err == nil || postgres.IsMissingPartition(err) || !strings.Contains(err.Error(), "pings_20310506") {
		t.Errorf("got %v, want an error about the rows of pings_20310506", err)
	}
}

const insertPing = `INSERT INTO pings (issued_at, sandbox, term_id, country, postcode, urgency, job_type, budget, outcome, price_minor, currency, card_version, duration_us)
	VALUES ($1, false, 1, 'GB', 'SW1A 1AA', '', '', '', 'excluded', 0, 'GBP', 1, 1)`
