package migrations_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/migrations"
)

func TestUpDownUp(t *testing.T) {
	owner := openOwner(t, testkit.NewEmptyDatabase(t))
	names, err := migrations.Up(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	first := readCatalogue(t, owner)
	if again, err := migrations.Up(t.Context(), owner); err != nil || len(again) != 0 {
		t.Errorf("applying again: applied %v (%v), want nothing", again, err)
	}
	downTo(t, owner, 0)
	for _, line := range readCatalogue(t, owner) {
		if !strings.Contains(line, "schema_migrations") && !strings.HasPrefix(line, "schema ") {
			t.Errorf("left after undoing all migrations: %s", line)
		}
	}
	if again, err := migrations.Up(t.Context(), owner); err != nil || !slices.Equal(again, names) {
		t.Fatalf("after undoing: applied %v (%v), want %v", again, err, names)
	}
	second := readCatalogue(t, owner)
	for _, line := range first {
		if !slices.Contains(second, line) {
			t.Errorf("missing after undoing and applying again: %s", line)
		}
	}
	if len(first) != len(second) {
		t.Errorf("the catalogue had %d lines and now has %d", len(first), len(second))
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

// A database whose schema is older than these migrations is not changed, and the error says what to do.
func TestEarlySchemaIsRejected(t *testing.T) {
	d := testkit.NewEmptyDatabase(t)
	owner := openOwner(t, d)
	exec(t, testkit.Connect(t, d.OwnerURL), `CREATE TABLE goose_db_version (version_id bigint)`)
	if _, err := migrations.Up(t.Context(), owner); err == nil || !strings.Contains(err.Error(), "create a new, empty database") {
		t.Errorf("got %v, want an error that says what to do", err)
	}
	if n := testkit.Value[int](t, d, `SELECT count(*) FROM pg_tables WHERE schemaname = 'public'`); n != 2 {
		t.Errorf("got %d tables, want only the two that list migrations", n)
	}
}
