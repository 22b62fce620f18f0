package postgres_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/testkit"
)

func partitions(t *testing.T, d *testkit.Database) []string {
	t.Helper()
	rows, err := d.Pool.Query(t.Context(),
		`SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'pings'::regclass ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// From the day before, for requests that straddle midnight, to the days ahead.
func TestPingPartitions(t *testing.T) {
	d := testkit.NewDatabase(t)
	newYear := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := d.EnsurePingPartitions(t.Context(), newYear, 2); err != nil {
		t.Fatal(err)
	}
	if got, want := partitions(t, d), []string{"pings_20241231", "pings_20250101", "pings_20250102", "pings_20250103"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n, err := d.DropPingPartitions(t.Context(), newYear.AddDate(0, 0, 1).Add(23*time.Hour)); err != nil || n != 2 {
		t.Errorf("dropped %d (%v), want the 2 whole days before", n, err)
	}
	if got, want := partitions(t, d), []string{"pings_20250102", "pings_20250103"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Dropping a partition that a long transaction reads does not hold up new pings,
// and succeeds once that transaction has ended.
func TestDropPingPartitionsDoesNotHoldUpPings(t *testing.T) {
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
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		_, err := d.Pool.Exec(ctx, `INSERT INTO pings (issued_at, sandbox, term_id, country, postcode, urgency, job_type, budget, outcome, price_minor, currency, card_version, duration_us)
			VALUES ('2025-01-02 12:00+00', false, 1, 'GB', 'SW1A 1AA', '', '', '', 'excluded', 0, 'GBP', 1, 1)`)
		cancel()
		if err != nil {
			t.Fatalf("a ping waits for the partition to be dropped: %v", err)
		}
	}
	if _, err := reader.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.err != nil || r.dropped != 1 {
		t.Errorf("dropped %d (%v), want 1", r.dropped, r.err)
	}
}

const insertTraffic = `INSERT INTO traffic_minutes SELECT $1, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'post', 'delivered', 1, '{1}'
	FROM generate_series(1, $2::int)`

func TestDeleteTraffic(t *testing.T) {
	d := testkit.NewDatabase(t)
	for _, minute := range []time.Time{began.Add(-time.Minute), began, began.Add(time.Minute)} {
		d.Exec(t, insertTraffic, minute, 1)
	}
	if n, err := d.DeleteTrafficMinutes(t.Context(), began); err != nil || n != 1 {
		t.Errorf("deleted %d (%v), want 1", n, err)
	}
	if n := testkit.Value[int](t, d, `SELECT count(*) FROM traffic_minutes`); n != 2 {
		t.Errorf("%d rows are left, want 2", n)
	}
}

// Many counters go in several statements, and one that another node is at does
// not hold up the rest.
func TestDeleteTrafficInBatches(t *testing.T) {
	d := testkit.NewDatabase(t)
	d.Exec(t, insertTraffic, began.Add(-time.Hour), 1)
	d.Exec(t, insertTraffic, began.Add(-time.Minute), 12_000)
	other := testkit.Connect(t, d.AppURL)
	for _, sql := range []string{`BEGIN`, `DELETE FROM traffic_minutes WHERE minute = (SELECT min(minute) FROM traffic_minutes)`} {
		if _, err := other.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := d.DeleteTrafficMinutes(t.Context(), began); err != nil || n != 12_000 {
		t.Errorf("deleted %d (%v), want all but the other's", n, err)
	}
}
