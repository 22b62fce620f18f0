package postgres_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/testkit"
)

// The first partition is for the day before, for requests around midnight.
func TestPingPartitions(t *testing.T) {
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
