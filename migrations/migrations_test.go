package migrations_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

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
		if !strings.Contains(line, "goose_db_version") && !strings.HasPrefix(line, "schema ") {
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
	latest, err := migrations.Latest()
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{0, 1, latest} {
		if at > 0 {
			upTo(t, owner, at)
		}
		steps, err := migrations.Status(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(steps)) != latest {
			t.Errorf("at %d: got %d migrations, want %d", at, len(steps), latest)
		}
		for i, s := range steps {
			if s.Version != int64(i+1) || s.Applied != (s.Version <= at) ||
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

// Applying or undoing a migration does not delete rows of other tables.
func TestStepsKeepRows(t *testing.T) {
	d := testkit.NewEmptyDatabase(t)
	owner := openOwner(t, d)
	conn := testkit.Connect(t, d.OwnerURL)
	partner := uuid.New()

	holds := func(want map[string]int) {
		t.Helper()
		for table, n := range want {
			if got := value[int](t, conn, "SELECT count(*) FROM "+table); got != n {
				t.Errorf("%s: got %d rows, want %d", table, got, n)
			}
		}
	}
	gone := func(tables ...string) {
		t.Helper()
		for _, table := range tables {
			rejects(t, conn, undefinedTable, "", "SELECT FROM "+table)
		}
	}

	upTo(t, owner, 1)
	exec(t, conn, insertPartner, partner, "a-partner")
	exec(t, conn, insertAccount, uuid.New(), partner, "an-account")
	exec(t, conn, insertSecret, uuid.New(), partner)
	first := map[string]int{
		"partners":          2,
		"accounts":          2,
		"signing_secrets":   1,
		"snapshot_versions": 2,
	} // includes the platform partner and account
	holds(first)
	upTo(t, owner, 2)
	holds(first)
	card := uuid.New()
	exec(t, conn,
		`INSERT INTO rate_cards (id, version, state, author, created_at) VALUES ($1, 1, 'draft', 'someone', now())`,
		card)
	exec(t, conn, insertRule, card)
	exec(t, conn, publish, card, 1)
	exec(t, conn, `INSERT INTO partner_prices (partner_id, adjustment, updated_at) VALUES ($1, 500, now())`, partner)
	second := map[string]int{"rate_cards": 1, "pricing_rules": 1, "partner_prices": 1}
	upTo(t, owner, 3)
	holds(first)
	holds(second)
	lead := putLead(t, conn, partner, false, testkit.StartTime())
	third := map[string]int{"leads": 1, "consents": 1, "lead_events": 1, "ledger_entries": 1}
	upTo(t, owner, 4)
	holds(second)
	holds(third)
	exec(t, conn, `SELECT ensure_ping_partitions('2026-01-02', 1)`)
	exec(t, conn, insertPing, testkit.StartTime())
	holds(map[string]int{"pings": 1, "traffic_minutes": 0, "refusals": 0})
	upTo(t, owner, 5)
	holds(third)
	exec(t, conn, `UPDATE partner_prices SET exclusions = '{}'`) // rejected by migration 6
	before := readCatalogue(t, owner)
	upTo(t, owner, 6)
	holds(first)
	holds(second)
	holds(third)
	downTo(t, owner, 5)
	for i, line := range readCatalogue(t, owner) {
		if i >= len(before) || line != before[i] {
			t.Fatalf("left after undoing migration 6: %s", line)
		}
	}
	upTo(t, owner, 6)
	holds(second)

	downTo(t, owner, 3)
	gone("pings", "pings_20260102", "traffic_minutes", "refusals")
	holds(third)
	downTo(t, owner, 2)
	gone("leads", "consents", "lead_events", "ledger_entries")
	holds(second)
	downTo(t, owner, 1)
	gone("rate_cards", "pricing_rules", "partner_prices")
	holds(first)
	upTo(t, owner, 4)
	holds(first)
	holds(map[string]int{"rate_cards": 0, "leads": 0, "pings": 0})
	exec(t, conn, insertLead, lead, partner, false, testkit.StartTime())
	downTo(t, owner, 0)
	gone("partners", "leads", "pings", "snapshot_versions")
}

// Concurrent migrations wait for each other.
func TestConcurrentMigrations(t *testing.T) {
	d := testkit.NewEmptyDatabase(t)
	latest, err := migrations.Latest()
	if err != nil {
		t.Fatal(err)
	}
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
	if n := len(applied[0]) + len(applied[1]); int64(n) != latest {
		t.Errorf("applied %d migrations, want %d: %v", n, latest, applied)
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
	if n := testkit.Value[int](t, d, `SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'goose_db_version'`); n != 0 {
		t.Errorf("%d tables were created", n)
	}
}
