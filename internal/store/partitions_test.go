package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/testkit"
)

func partitions(t *testing.T, d *testkit.Database) []string {
	t.Helper()
	rows, err := d.Pool.Query(t.Context(), `SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'pings'::regclass ORDER BY 1`)
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
	newYear := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := d.EnsurePingPartitions(t.Context(), newYear, 2); err != nil {
		t.Fatal(err)
	}
	if got, want := partitions(t, d), []string{"pings_20261231", "pings_20270101", "pings_20270102", "pings_20270103"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n, err := d.DropPingPartitions(t.Context(), newYear.AddDate(0, 0, 1).Add(23*time.Hour)); err != nil || n != 2 {
		t.Errorf("dropped %d (%v), want the 2 whole days before", n, err)
	}
	if got, want := partitions(t, d), []string{"pings_20270102", "pings_20270103"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestDeleteTraffic(t *testing.T) {
	d := testkit.NewDatabase(t)
	for _, minute := range []time.Time{began.Add(-time.Minute), began, began.Add(time.Minute)} {
		if _, err := d.Pool.Exec(t.Context(), `INSERT INTO traffic_minutes VALUES ($1, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'post', 'delivered', 1, '{1}')`, minute); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := d.DeleteTraffic(t.Context(), began); err != nil || n != 1 {
		t.Errorf("deleted %d (%v), want 1", n, err)
	}
	if n := testkit.Value[int](t, d, `SELECT count(*) FROM traffic_minutes`); n != 2 {
		t.Errorf("%d rows are left, want 2", n)
	}
}
