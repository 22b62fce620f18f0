package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// The service starts without its database, because pings do not need it.
func TestOpenDoesNotConnect(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), postgres.Options{
		URL:            "postgres://someone:secret@127.0.0.1:1/none",
		ConnectTimeout: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Inspect(t.Context()); err == nil || strings.Contains(every(err), "secret") {
		t.Errorf("Inspect() error = %v", err)
	}
}

func TestInvalidURLIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://someone:" + canary + "@host:port/name", "://" + canary, "host=" + canary + " port=none"} {
		_, err := postgres.Open(t.Context(), postgres.Options{URL: url})
		if err == nil || strings.Contains(every(err), canary) ||
			!strings.Contains(err.Error(), "postgres://user:password@host:port/database") {
			t.Errorf("Open: %v", err)
		}
		_, err = postgres.OpenOwner(url, time.Second)
		if err == nil || strings.Contains(every(err), canary) ||
			!strings.Contains(err.Error(), "postgres://user:password@host:port/database") {
			t.Errorf("OpenOwner: %v", err)
		}
	}
}

func TestSessionSettings(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabaseURLs(t)
	for _, c := range []struct{ url, application, name string }{
		{d.AppURL, "", "pingpost"},
		{d.AppURL, "pingpost node-1", "pingpost node-1"},
		{d.AppURL + "&application_name=node-7", "pingpost node-1", "node-7"},
	} {
		db, err := postgres.Open(t.Context(), postgres.Options{
			URL:              c.url,
			Application:      c.application,
			MaxConnections:   1,
			ConnectTimeout:   within,
			StatementTimeout: 1500 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var zone, timeout, application string
		if err := db.Pool.QueryRow(t.Context(), `SELECT current_setting('timezone'), current_setting('statement_timeout'), current_setting('application_name')`).
			Scan(&zone, &timeout, &application); err != nil {
			t.Fatal(err)
		}
		if zone != "UTC" || timeout != "1500ms" || application != c.name {
			t.Errorf("time zone %s, statement timeout %s, application %s, want UTC, 1500ms, %s", zone, timeout, application, c.name)
		}
		if got := db.Pool.Config().MaxConns; got != 2 {
			t.Errorf("got at most %d connections, want 2, because the LISTEN connection starts in the pool", got)
		}
	}
}

func TestTransaction(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	const committed, rolledBack = models.PartnerSuspended, models.PartnerPending
	change := func(tx *gorm.DB, to models.PartnerStatus) error {
		return tx.Model(&models.Partner{}).Where("id = ?", models.PlatformIDs.Partner).Update("status", to).Error
	}
	status := func() models.PartnerStatus {
		return testkit.Value[models.PartnerStatus](t, d, `SELECT status FROM partners WHERE slug = 'platform'`)
	}
	if err := d.Transaction(t.Context(), func(tx *gorm.DB) error { return change(tx, committed) }); err != nil ||
		status() != committed {
		t.Errorf("got error %v and status %s", err, status())
	}
	mine := errors.New("mine")
	err := d.Transaction(t.Context(), func(tx *gorm.DB) error { return errors.Join(change(tx, rolledBack), mine) })
	if err == nil || status() != committed {
		t.Errorf("got error %v and status %s", err, status())
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("Transaction did not panic")
			}
		}()
		_ = d.Transaction(t.Context(), func(tx *gorm.DB) error {
			if err := change(tx, rolledBack); err != nil {
				t.Error(err)
			}
			panic("in the transaction")
		})
	}()
	if status() != committed {
		t.Errorf("got status %s after a panic", status())
	}
	if n := d.Pool.Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections were not returned to the pool", n)
	}
}

// GORM must not log, because its messages contain the values of slow and failing statements.
func TestGORMLogsNothing(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	out := captureOutput(t, func() {
		if err := d.Gorm.Exec(`SELECT ? / 0`, canary).Error; err == nil {
			t.Error("got no error")
		}
		if err := d.Gorm.Exec(`SELECT pg_sleep(0.25), ?::text`, canary).Error; err != nil { // GORM reports 200 ms as slow
			t.Error(err)
		}
	})
	if strings.Contains(out, canary) || strings.Contains(out, "SELECT") {
		t.Errorf("logged: %s", out)
	}
}

func TestCloseClosesAllConnections(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabaseURLs(t)
	db, err := postgres.Open(t.Context(), postgres.Options{
		URL:            d.AppURL + "&application_name=to-be-closed",
		MaxConnections: 3,
		ConnectTimeout: within,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Gorm.Exec(`SELECT 1`).Error; err != nil {
		t.Fatal(err)
	}
	db.Close()
	testkit.Eventually(t, within, "all connections are closed", func() bool {
		return testkit.Value[int](t, d, `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'to-be-closed'`) == 0
	})
}

// Each check needs new disk space. The table is emptied when it is large, unless a backup reads it.
func TestCheckWrites(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	size := func() int64 { return testkit.Value[int64](t, d, `SELECT pg_table_size('write_checks')`) }
	check := func(times int) {
		t.Helper()
		for range times {
			if err := d.CheckWrites(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := size()
	check(1)
	if grown := size() - before; grown < 64<<10 {
		t.Errorf("the check needed %d bytes of disk space, want at least 64 KiB", grown)
	}
	backup := testkit.Connect(t, d.RootURL)
	if _, err := backup.Exec(t.Context(), `BEGIN; LOCK TABLE write_checks IN ACCESS SHARE MODE`); err != nil {
		t.Fatal(err)
	}
	check(65)
	if n := size(); n <= 4<<20 {
		t.Errorf("during a backup, the table has %d bytes, want more than 4 MiB", n)
	}
	if _, err := backup.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	check(1)
	if n := size(); n > 64<<10 {
		t.Errorf("after a backup, the table has %d bytes, want an empty table", n)
	}
	d.Exec(t, `CREATE FUNCTION reject_full_disk() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE 'no space left' USING ERRCODE = 'disk_full'; END $$;
		CREATE TRIGGER full_disk BEFORE INSERT ON write_checks EXECUTE FUNCTION reject_full_disk()`)
	var rejected *postgres.Err
	if err := d.CheckWrites(t.Context()); !errors.As(err, &rejected) || rejected.SQLState != "53100" {
		t.Errorf("with a full disk: got %v", err)
	}
}
