package migrations_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/testkit"
)

const insertPing = `INSERT INTO pings (issued_at, sandbox, term_id, country, postcode, urgency, job_type, budget, outcome, price_minor, currency, card_version, duration_us)
	VALUES ($1, false, 1072, 'GB', 'SW1A 1AA', '', '', '', 'priced', 4560, 'GBP', 1, 100)`

// Partitions contain UTC days, regardless of the caller's time zone and date style.
func TestPartitionsAreUTCDays(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app := testkit.Connect(t, d.AppURL)
	exec(t, app, `SET timezone = 'Pacific/Kiritimati'`) // UTC+14
	exec(t, app, `SET datestyle = 'SQL, DMY'`)
	if n := value[int](t, app, `SELECT ensure_ping_partitions('2026-12-31'::date, 2)`); n != 2 {
		t.Errorf("created %d", n)
	}
	if got, want := d.PingPartitions(t), []string{"pings_20261231", "pings_20270101"}; !slices.Equal(got, want) {
		t.Errorf("got partitions %v, want %v", got, want)
	}
	midnight := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	exec(t, app, insertPing, midnight.Add(-time.Microsecond))
	exec(t, app, insertPing, midnight)
	for _, table := range []string{"pings_20261231", "pings_20270101"} {
		if n := testkit.Value[int](t, d, `SELECT count(*) FROM `+table); n != 1 {
			t.Errorf("%s: got %d rows, want 1", table, n)
		}
	}
	rejects(t, app, noPartition, "", insertPing, midnight.AddDate(0, 0, 1))
	rejects(t, app, noPartition, "", insertPing, midnight.AddDate(0, 0, -1).Add(-time.Microsecond))
}

func TestPartitionsAreCreatedOnce(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app := testkit.Connect(t, d.AppURL)
	if n := value[int](t, app, `SELECT ensure_ping_partitions('2026-01-01', 3)`); n != 3 {
		t.Errorf("created %d, want 3", n)
	}
	if n := value[int](t, app, `SELECT ensure_ping_partitions('2026-01-02', 3)`); n != 1 {
		t.Errorf("created %d more, want 1", n)
	}
	if n := value[int](t, app, `SELECT ensure_ping_partitions('2026-02-01', 100000)`); n != 60 {
		t.Errorf("created %d of 100,000, want 60", n)
	}
}

func TestPartitionsAreDroppedByDay(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app := testkit.Connect(t, d.AppURL)
	exec(t, app, `SELECT ensure_ping_partitions('2025-12-30', 4)`)
	rejects(t, app, insufficientPrivilege, "", `DROP TABLE pings_20251230`)
	if n := value[int](t, app, `SELECT drop_ping_partitions('2026-01-01')`); n != 2 {
		t.Errorf("dropped %d, want 2", n)
	}
	if got, want := d.PingPartitions(t), []string{"pings_20260101", "pings_20260102"}; !slices.Equal(got, want) {
		t.Errorf("got partitions %v, want %v", got, want)
	}
	if n := value[int](t, app, `SELECT drop_ping_partitions('2026-01-01')`); n != 0 {
		t.Errorf("dropped %d more, want 0", n)
	}
}

// Recent partitions cannot be dropped, even by a node with a wrong clock or by another program with
// the service's role.
func TestPartitionsOfTheLastDayAreNotDropped(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app := testkit.Connect(t, d.AppURL)
	exec(t, app, `SET timezone = 'Pacific/Kiritimati'`) // where the date usually differs from UTC
	exec(t, app, `BEGIN`)                               // so that now() stays the same
	today := value[time.Time](t, app, `SELECT (now() AT TIME ZONE 'UTC')::date`)
	exec(t, app, `SELECT ensure_ping_partitions($1, 4)`, today.AddDate(0, 0, -3))
	// The newest partition that may be dropped ended a day ago.
	if n := value[int](t, app, `SELECT drop_ping_partitions($1)`, today.AddDate(0, 0, -1)); n != 2 {
		t.Errorf("dropped %d, want 2", n)
	}
	exec(t, app, `COMMIT`)
	for _, before := range []string{`'infinity'`, `current_date + 365`, `(now() AT TIME ZONE 'UTC')::date + 1`,
		`(now() AT TIME ZONE 'UTC')::date`} {
		rejects(t, app, invalidParameter, "pings_younger_than_a_day", `SELECT drop_ping_partitions(`+before+`)`)
	}
	want := []string{today.AddDate(0, 0, -1).Format("pings_20060102"), today.Format("pings_20060102")}
	if got := d.PingPartitions(t); !slices.Equal(got, want) {
		t.Errorf("got partitions %v, want %v", got, want)
	}
}

// All nodes change partitions concurrently, when they start and then every hour.
func TestConcurrentPartitionChanges(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	var all sync.WaitGroup
	for range 4 {
		app := testkit.Connect(t, d.AppURL)
		all.Go(func() {
			for range 3 {
				for _, sql := range []string{`SELECT ensure_ping_partitions('2026-01-01', 5)`, `SELECT drop_ping_partitions('2026-01-03')`} {
					if _, err := app.Exec(t.Context(), sql); err != nil {
						t.Errorf("%s: %v", sql, err)
					}
				}
			}
		})
	}
	all.Wait()
	want := []string{"pings_20260103", "pings_20260104", "pings_20260105"}
	if got := d.PingPartitions(t); !slices.Equal(got, want) {
		t.Errorf("got partitions %v, want %v", got, want)
	}
}
