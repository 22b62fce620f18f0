package migrations_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/migrations"
)

const insertAnyEntry = `INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
	VALUES ($2, gen_random_uuid(), $1, $3, gen_random_uuid()::text, $4, 'GBP', now())`

// One index stands for two: a lead accrues once, whatever the reference, and has as
// many other entries as it likes.
func TestALeadAccruesOnce(t *testing.T) {
	app := testkit.Connect(t, testkit.NewDatabaseURLs(t).AppURL)
	partner := uuid.New()
	lead := putLead(t, app, partner, false, testkit.Began())
	refuses(t, app, uniqueViolation, "ledger_entries_by_lead_once", insertAnyEntry, lead, partner, "accrual", 4560)
	exec(t, app, insertAnyEntry, lead, partner, "return", -4560)
	exec(t, app, insertAnyEntry, lead, partner, "adjustment", 100)
	exec(t, app, insertAnyEntry, lead, partner, "adjustment", 100)
	exec(t, app, insertAnyEntry, nil, partner, "adjustment", 100)
	exec(t, app, insertAnyEntry, nil, partner, "adjustment", 100)
	if n := value[int](t, app, `SELECT count(*) FROM ledger_entries WHERE lead_id = $1`, lead); n != 4 {
		t.Errorf("the lead has %d entries, want 4", n)
	}
}

// What is looked up of one lead has an index, the guard of its deletion among them.
func TestALeadsRowsHaveAnIndex(t *testing.T) {
	app := testkit.Connect(t, testkit.NewDatabaseURLs(t).AppURL)
	exec(t, app, `SET enable_seqscan = off`)
	const ofLead = `WHERE lead_id = '00000000-0000-7000-8000-000000000001'`
	for query, index := range map[string]string{
		`SELECT FROM ledger_entries ` + ofLead:                           "ledger_entries_by_lead_once",
		`SELECT FROM ledger_entries ` + ofLead + ` AND kind = 'accrual'`: "ledger_entries_by_lead_once",
		`SELECT FROM lead_events ` + ofLead + ` ORDER BY id`:             "lead_events_pkey",
	} {
		plan := value[string](t, app, "EXPLAIN (FORMAT JSON) "+query)
		if !strings.Contains(plan, `"Index Name": "`+index+`"`) || !strings.Contains(plan, `"Index Cond": "(lead_id`) {
			t.Errorf("%s does not use %s:\n%s", query, index, plan)
		}
	}
}

// The step that leaves indexes out keeps the rows, both ways, and ends what it had
// begun when it was broken off.
func TestFewerIndexesAndBack(t *testing.T) {
	d := testkit.NewEmptyDatabase(t)
	owner, conn := openOwner(t, d), testkit.Connect(t, d.OwnerURL)
	up := func(version int64) []string {
		t.Helper()
		if err := migrations.UpTo(t.Context(), owner, version); err != nil {
			t.Fatal(err)
		}
		return readCatalogue(t, owner)
	}
	before := up(14)
	partner := uuid.New()
	lead := putLead(t, conn, partner, false, testkit.Began())
	for _, left := range []string{
		`CREATE INDEX lead_events_key ON lead_events (at)`, `CREATE INDEX ledger_entries_by_lead_once ON ledger_entries (occurred_at)`,
		`DROP INDEX ledger_entries_one_accrual`,
	} {
		exec(t, conn, left)
	}
	after := up(15)
	if slices.Equal(before, after) {
		t.Fatal("the step changes nothing, or the catalogue does not tell")
	}
	refuses(t, conn, uniqueViolation, "ledger_entries_by_lead_once", insertAnyEntry, lead, partner, "accrual", 4560)
	if err := migrations.DownTo(t.Context(), owner, 14); err != nil {
		t.Fatal(err)
	}
	if got := readCatalogue(t, owner); !slices.Equal(got, before) {
		t.Errorf("it does not leave on its way down what it found:\n%s", strings.Join(got, "\n"))
	}
	refuses(t, conn, uniqueViolation, "ledger_entries_one_accrual", insertAnyEntry, lead, partner, "accrual", 4560)
	if got := up(15); !slices.Equal(got, after) {
		t.Errorf("it is not the same the second time:\n%s", strings.Join(got, "\n"))
	}
}
