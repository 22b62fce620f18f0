package migrations_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/migrations"
)

// newIndexes adds indexes to a partitioned table as a migration does.
const newIndexes = `
	CREATE INDEX leads_next_by_partner_reference ON ONLY leads (partner_reference, partner_id) WHERE partner_reference <> '';
	CREATE INDEX leads_next_by_sub_id ON ONLY leads (sub_id, partner_id) INCLUDE (sandbox) WHERE sub_id <> ''`

// Indexes of existing partitions are built while a long transaction, such as pg_dump's, uses them. Posts
// do not wait. An index that an interrupted build left behind is replaced.
func TestIndexesOfPartitionsAreBuiltWithoutBlockingPosts(t *testing.T) {
	d := testkit.NewEmptyDatabase(t)
	owner := openOwner(t, d)
	upTo(t, owner, baseline)
	posts, partner := testkit.Connect(t, d.AppURL), uuid.New()
	exec(t, posts, `SELECT create_partitions('{leads, lead_keys, consents, lead_events}', 'month', '2026-01-02', '2026-02-02')`)
	exec(t, posts, insertPartner, partner, "a-partner")
	putLead(t, posts, partner, true, testkit.StartTime())
	if _, err := owner.Exec(newIndexes); err != nil {
		t.Fatal(err)
	}
	invalid := func() int {
		return value[int](t, posts, `SELECT count(*) FROM pg_index JOIN pg_class ON oid = indexrelid WHERE NOT indisvalid`)
	}
	if n := invalid(); n != 2 {
		t.Fatalf("got %d invalid indexes after the migration, want 2", n)
	}
	if _, err := owner.Exec(`CREATE INDEX leads_20260101_next_by_sub_id ON leads_20260101 (id)`); err != nil {
		t.Fatal(err)
	}

	dump, err := testkit.Connect(t, d.OwnerURL).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dump.Exec(t.Context(), `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM leads`); err != nil {
		t.Fatal(err)
	}
	migrated := make(chan error, 1)
	go func() {
		_, err := migrations.Up(t.Context(), owner)
		migrated <- err
	}()
	testkit.Eventually(t, time.Minute, "the build waits for the long transaction", func() bool {
		return testkit.Value[bool](t, d, `SELECT EXISTS (SELECT FROM pg_stat_progress_create_index WHERE phase LIKE 'waiting%')`)
	})
	exec(t, posts, `SET lock_timeout = '1s'`)
	putLead(t, posts, partner, true, testkit.StartTime())
	if err := dump.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Fatal(err)
	}
	if n := invalid(); n != 0 {
		t.Errorf("got %d invalid indexes, want 0", n)
	}
	if n := value[int](t, posts, `SELECT count(*) FROM pg_index JOIN pg_class ON oid = indrelid
		WHERE relispartition AND relname LIKE 'leads%' AND pg_get_indexdef(indexrelid) LIKE '%(sub_id, partner_id) INCLUDE%'`); n != 2 {
		t.Errorf("got %d indexes by subId on two partitions, want 2", n)
	}
}

// Partitions that are created before the indexes of the older ones are built have the indexes too.
func TestNewPartitionsHaveIndexesThatAreNotBuiltYet(t *testing.T) {
	d := testkit.NewEmptyDatabase(t)
	owner := openOwner(t, d)
	upTo(t, owner, baseline)
	app := testkit.Connect(t, d.AppURL)
	exec(t, app, `SELECT create_partitions('{leads}', 'month', '2026-01-02', '2026-01-02')`)
	if _, err := owner.Exec(newIndexes); err != nil {
		t.Fatal(err)
	}
	exec(t, app, `SELECT create_partitions('{leads}', 'month', '2026-02-02', '2026-02-02')`)
	if n := value[int](t, app, `SELECT count(*) FROM pg_index WHERE indrelid = 'leads_20260201'::regclass AND indisvalid
		AND pg_get_indexdef(indexrelid) ~ '\((partner_reference|sub_id), partner_id\)'`); n != 2 {
		t.Errorf("got %d of the two indexes", n)
	}
}

// Erasing a lead also erases what the partner called it.
func TestErasureErasesPartnerReference(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app, owner := testkit.Connect(t, d.AppURL), testkit.Connect(t, d.OwnerURL)
	partner := uuid.New()
	lead := putLead(t, app, partner, false, testkit.StartTime())
	exec(t, owner, `UPDATE leads SET partner_reference = 'a', sub_id = 'b' WHERE id = $1`, lead)
	if n := value[int](t, app, `SELECT count(*) FROM leads WHERE partner_reference = 'a' AND sub_id = 'b'`); n != 1 {
		t.Fatalf("got %d leads with a reference, want 1", n)
	}
	exec(t, owner, `UPDATE leads SET state = 'erased', ciphertext = NULL, iv = NULL, auth_tag = NULL WHERE id = $1`, lead)
	if n := value[int](t, app, `SELECT count(*) FROM leads WHERE partner_reference = '' AND sub_id = ''`); n != 1 {
		t.Errorf("got %d leads without a reference after the erasure, want 1", n)
	}
}
