package migrations_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/migrations"
)

// eachPartition matches a statement to run for each partition of the ledger. An index cannot be created
// concurrently on a partitioned table.
var eachPartition = regexp.MustCompile(`.*each_partition.*`)

// A migration that waits for a long transaction, such as pg_dump's, does not block posts,
// although Postgres queues later statements behind it.
func TestPostsContinueWhileMigrationWaits(t *testing.T) {
	for name, next := range map[string]string{
		"migration in a transaction": `-- +goose Up
			ALTER TABLE ledger_entries ADD COLUMN next text;`,
		"replacing an index": `-- +goose NO TRANSACTION
			-- +goose Up
			SET lock_timeout = 0; -- concurrent builds do not block other statements
			CREATE INDEX CONCURRENTLY ON each_partition (id) WHERE kind = 'return';
			-- +goose StatementBegin
			CALL pg_temp.when_free('DROP INDEX ledger_entries_others; CREATE INDEX ledger_entries_others ON ledger_entries (id) WHERE kind = ''return''');
			-- +goose StatementEnd`,
		"replacing a constraint": `-- +goose NO TRANSACTION
			-- +goose Up
			CALL pg_temp.when_free('ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_sign');`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := testkit.NewDatabaseURLs(t)
			owner := openOwner(t, d)
			next := eachPartition.ReplaceAllStringFunc(next, func(sql string) string {
				return testkit.Value[string](t, d, `SELECT string_agg(replace($1, 'each_partition', name), E'\n') FROM partitions WHERE parent = 'ledger_entries'`, sql)
			})
			posts, partner := testkit.Connect(t, d.AppURL), uuid.New()
			exec(t, posts, insertPartner, partner, "a-partner")
			exec(t, posts, `SET lock_timeout = '1min'`) // the migration waits until the dump ends

			dump, err := testkit.Connect(t, d.OwnerURL).Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := dump.Exec(t.Context(), `SELECT count(*) FROM ledger_entries`); err != nil {
				t.Fatal(err)
			}

			migrated := make(chan error, 1)
			go func() { migrated <- migrations.UpWith(t.Context(), owner, next) }()
			for range 2 { // the second insert runs during a retry of the migration
				d.AwaitLockOn(t, "ledger_entries")
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
	upTo(t, openOwner(t, d), 2)
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
