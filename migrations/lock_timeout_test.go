package migrations_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/migrations"
)

// A migration that waits for a long transaction, such as pg_dump's, does not block posts,
// although Postgres queues later statements behind it.
func TestPostsContinueWhileMigrationWaits(t *testing.T) {
	steps := []struct {
		name   string
		before int64
		table  string // read by the long transaction and changed by a migration
	}{
		{"migration in a transaction", 12, "ledger_entries"},
		{"replacing an index", 14, "lead_events"},
		{"replacing a constraint", 15, "ledger_entries"},
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			t.Parallel()
			d := testkit.NewEmptyDatabase(t)
			owner := openOwner(t, d)
			upTo(t, owner, step.before)
			posts, partner := testkit.Connect(t, d.OwnerURL), uuid.New()
			exec(t, posts, insertPartner, partner, "a-partner")
			exec(t, posts, `SET lock_timeout = '2s'`) // as for a post

			dump, err := testkit.Connect(t, d.OwnerURL).Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := dump.Exec(t.Context(), `SELECT count(*) FROM `+step.table); err != nil {
				t.Fatal(err)
			}

			migrated := make(chan error, 1)
			go func() {
				_, err := migrations.Up(t.Context(), owner)
				migrated <- err
			}()
			for range 2 { // the second insert runs during a retry of the migration
				d.AwaitLockOn(t, step.table)
				putLead(t, posts, partner, false, testkit.StartTime())
			}
			if err := dump.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-migrated:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Error("the migration did not continue after the long transaction")
			}
			if n := value[int](t, posts, `SELECT count(*) FROM ledger_entries`); n != 2 {
				t.Errorf("got %d entries, want 2", n)
			}
		})
	}
}

// The operator gets an explanation if a table stays in use.
func TestTableInUseIsExplained(t *testing.T) {
	d := testkit.NewEmptyDatabase(t)
	upTo(t, openOwner(t, d), 1)
	reader, err := testkit.Connect(t, d.OwnerURL).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Exec(t.Context(), `SELECT count(*) FROM partners`); err != nil {
		t.Fatal(err)
	}
	_, err = testkit.Connect(t, d.OwnerURL).Exec(t.Context(), `DO $$ BEGIN LOCK TABLE partners NOWAIT; END $$`)
	if err == nil {
		t.Fatal("the table was not locked")
	}
	for _, want := range []string{"pg_stat_activity"} {
		if got := migrations.Explain(err).Error(); !strings.Contains(got, want) {
			t.Errorf("got %q, want an error with %q", got, want)
		}
	}
}
