package migrations_test

import (
	"bytes"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

const insertPing = `INSERT INTO pings (issued_at, sandbox, term_id, country, postcode, urgency, job_type, budget, outcome, price_minor, currency, card_version, duration_us)
	VALUES ($1, false, 1072, 'GB', 'SW1A 1AA', '', '', '', 'priced', 4560, 'GBP', 1, 100)`

// Partitions contain UTC days, regardless of the caller's time zone and date style.
func TestPartitionsAreUTCDays(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app := testkit.Connect(t, d.AppURL)
	exec(t, app, `SET timezone = 'Pacific/Kiritimati'`) // UTC+14
	exec(t, app, `SET datestyle = 'SQL, DMY'`)
	if n := value[int](t, app, `SELECT create_partitions('{pings}', 'day', '2026-12-31 12:00Z', '2027-01-01 00:00Z')`); n != 2 {
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
	if n := value[int](t, app, `SELECT create_partitions('{pings}', 'day', '2026-01-01', '2026-01-03')`); n != 3 {
		t.Errorf("created %d, want 3", n)
	}
	if n := value[int](t, app, `SELECT create_partitions('{pings}', 'day', '2026-01-02', '2026-01-04')`); n != 1 {
		t.Errorf("created %d more, want 1", n)
	}
	rejects(t, app, invalidParameter, "partitions_period", `SELECT create_partitions('{pings}', 'day', '2026-02-01', '2126-02-01')`)
}

func TestPartitionsAreDroppedByDay(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app := testkit.Connect(t, d.AppURL)
	exec(t, app, `SELECT create_partitions('{pings}', 'day', '2025-12-30', '2026-01-02')`)
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
	exec(t, app, `SELECT create_partitions('{pings}', 'day', $1, $2)`, today.AddDate(0, 0, -3), today)
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
				for _, sql := range []string{`SELECT create_partitions('{pings}', 'day', '2026-01-01', '2026-01-05')`, `SELECT drop_ping_partitions('2026-01-03')`} {
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

// A table whose key is a UUIDv7 is partitioned by the time in the key. Weeks can follow months, and gaps
// are filled.
func TestPartitionsByID(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	owner := testkit.Connect(t, d.OwnerURL)
	exec(t, owner, `SET timezone = 'America/New_York'`)
	exec(t, owner, `CREATE TABLE things (id uuid PRIMARY KEY) PARTITION BY RANGE (id)`)
	for _, c := range []struct {
		unit, from, to string
		created        int
	}{
		{"month", "2026-02-10", "2026-03-01", 2},
		{"month", "2026-02-10", "2026-03-31", 0},
		{"week", "2026-03-30", "2026-04-06", 2}, // 1 April is a Wednesday
		{"month", "2026-05-20", "2026-06-01", 2},
		{"month", "2026-04-30", "2026-05-01", 1},
	} {
		if n := value[int](t, owner, `SELECT create_partitions('{things}', $1, $2::timestamp AT TIME ZONE 'UTC', $3::timestamp AT TIME ZONE 'UTC')`,
			c.unit, c.from, c.to); n != c.created {
			t.Errorf("%s from %s to %s: created %d, want %d", c.unit, c.from, c.to, n, c.created)
		}
	}
	const ranges = `SELECT array_agg(name || ' to ' || to_char(ends_at AT TIME ZONE 'UTC', 'YYYYMMDD HH24') ORDER BY starts_at) FROM partitions WHERE parent = 'things'`
	want := []string{
		"things_20260201 to 20260301 00", "things_20260301 to 20260401 00", "things_20260401 to 20260406 00",
		"things_20260406 to 20260413 00", "things_20260413 to 20260501 00", "things_20260501 to 20260601 00", "things_20260601 to 20260701 00",
	}
	if got := value[[]string](t, owner, ranges); !slices.Equal(got, want) {
		t.Errorf("got partitions\n%v, want\n%v", got, want)
	}
	march := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	first := id.NewV7(march, [10]byte{})
	last := id.NewV7(march.Add(-time.Millisecond), [10]byte(bytes.Repeat([]byte{0xff}, 10)))
	exec(t, owner, `INSERT INTO things VALUES ($1), ($2)`, first, last)
	for table, want := range map[string]uuid.UUID{"things_20260201": last, "things_20260301": first} {
		if got := value[uuid.UUID](t, owner, `SELECT id FROM `+table); got != want {
			t.Errorf("%s: got id %s, want %s", table, got, want)
		}
	}
	rejects(t, owner, insufficientPrivilege, "", `TRUNCATE things_20260201`)
}

// Rows can be inserted while a partition is being attached.
func TestNewPartitionLocksNoRows(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app, other := testkit.Connect(t, d.AppURL), testkit.Connect(t, d.AppURL)
	exec(t, app, `SELECT create_partitions('{pings}', 'day', '2026-01-01', '2026-01-01')`)
	exec(t, app, `BEGIN`)
	exec(t, app, `SELECT create_partitions('{pings}', 'day', '2026-01-02', '2026-01-02')`)
	exec(t, other, `SET lock_timeout = '1min'`)
	exec(t, other, insertPing, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	if n := value[int](t, other, `SELECT count(*) FROM pings`); n != 1 {
		t.Errorf("got %d rows, want 1", n)
	}
	exec(t, app, `COMMIT`)
}
