package migrations_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/migrations"
)

// The initial release's schema is filled with rows, and later migrations keep them.
func TestUpgradeFromBaseline(t *testing.T) {
	d := testkit.NewEmptyDatabase(t)
	owner := openOwner(t, d)
	upTo(t, owner, baseline)
	conn, partner := testkit.Connect(t, d.OwnerURL), uuid.New()
	exec(t, conn, `SELECT create_partitions('{leads, lead_keys, consents, lead_events}', 'month',
		'2026-01-02', '2026-01-02')`)
	exec(t, conn, `SELECT create_partitions('{ledger_entries}', 'month', now(), now())`)
	exec(t, conn, insertPartner, partner, "a-partner")
	exec(t, conn, insertAccount, uuid.New(), partner, "an-account")
	exec(t, conn, insertSecret, uuid.New(), partner)
	putCard(t, conn)
	for range 3 {
		putLead(t, conn, partner, false, testkit.StartTime())
	}
	const rows = `SELECT (SELECT count(*) FROM leads), (SELECT count(*) FROM lead_keys), (SELECT count(*) FROM consents),
		(SELECT count(*) FROM lead_events), (SELECT sum(amount_minor) FROM ledger_entries), (SELECT count(*) FROM signing_secrets),
		(SELECT count(*) FROM pricing_rules), (SELECT count(*) FROM accounts)`
	const want = "(3,3,3,3,13680,1,1,2)" // the platform has an account
	const next = "-- oldest program: 16\n-- +goose Up\nALTER TABLE leads ADD COLUMN next text;"
	if err := migrations.UpWith(t.Context(), owner, next); err != nil {
		t.Fatal(err)
	}
	if got := value[string](t, conn, `SELECT row(r.*)::text FROM (`+rows+`) AS r`); got != want {
		t.Errorf("got rows %s, want %s", got, want)
	}
	if names, err := migrations.Up(t.Context(), owner); err != nil || len(names) != 0 {
		t.Errorf("applying again: applied %v (%v), want nothing", names, err)
	}
}

func TestStatus(t *testing.T) {
	owner := openOwner(t, testkit.NewEmptyDatabase(t))
	want := len(migrationFiles(t)) + 1 // and River's
	for _, at := range []int64{0, 1, latest(t)} {
		if at > 0 {
			upTo(t, owner, at)
		}
		steps, err := migrations.Status(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		if len(steps) != want {
			t.Errorf("at %d: got %d migrations, want %d", at, len(steps), want)
		}
		for _, s := range steps {
			if s.Applied != (s.Version <= at) ||
				!strings.HasPrefix(s.Name, fmt.Sprintf("%05d_", s.Version)) {
				t.Errorf("at %d: got migration %+v", at, s)
			}
		}
	}
}

// Status works on a standby, because it writes nothing.
func TestStatusOnReadOnlyServer(t *testing.T) {
	d := testkit.NewEmptyDatabase(t)
	if _, err := migrations.Up(t.Context(), openOwner(t, d)); err != nil {
		t.Fatal(err)
	}
	reader := *d
	reader.OwnerURL += "&default_transaction_read_only=on"
	owner := openOwner(t, &reader)
	if steps, err := migrations.Status(t.Context(), owner); err != nil || !steps[len(steps)-1].Applied {
		t.Errorf("%+v, %v", steps, err)
	}
	if _, err := migrations.Up(t.Context(), owner); err == nil {
		t.Error("the server accepts writes")
	}
}

// Concurrent migrations wait for each other.
func TestConcurrentMigrations(t *testing.T) {
	d := testkit.NewEmptyDatabase(t)
	want := len(migrationFiles(t)) + 1 // and River's
	var applied [2][]string
	var all sync.WaitGroup
	for i := range applied {
		owner := openOwner(t, d)
		all.Go(func() {
			var err error
			if applied[i], err = migrations.Up(t.Context(), owner); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(applied[0]) + len(applied[1]); n != want {
		t.Errorf("applied %d migrations, want %d: %v", n, want, applied)
	}
}

// If the service's role does not exist, the error says what to do, and the database is not changed.
func TestMissingServiceRole(t *testing.T) {
	d := testkit.NewEmptyDatabase(t)
	owner := openOwner(t, d)
	d.Exec(t, `ALTER ROLE pingpost_app RENAME TO someone_else`)
	t.Cleanup(func() { d.Exec(t, `ALTER ROLE someone_else RENAME TO pingpost_app`) })
	_, err := migrations.Up(t.Context(), owner)
	for _, want := range []string{"pingpost_app does not exist", "CREATE ROLE pingpost_app LOGIN"} { // the problem and the fix
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if n := testkit.Value[int](t, d, `SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_migrations'`); n != 0 {
		t.Errorf("%d tables were created", n)
	}
}
