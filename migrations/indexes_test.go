package migrations_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/testkit"
)

// insertAnyEntry inserts an entry with a unique reference, insertSameEntry one with a fixed reference.
const (
	insertAnyEntry  = insertEntryOf + `, gen_random_uuid()::text)`
	insertSameEntry = insertEntryOf + `, 'once')`

	insertEntryOf = `INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, amount_minor, currency, occurred_at, reference)
		VALUES ($2, gen_random_uuid(), $1, $3, $4, 'GBP', now()`
)

// A lead has at most one accrual, regardless of its reference, and any number of other entries. One
// index replaces two for this.
func TestLeadHasOneAccrual(t *testing.T) {
	app := testkit.Connect(t, testkit.NewDatabaseURLs(t).AppURL)
	partner := uuid.New()
	lead := putLead(t, app, partner, false, testkit.StartTime())
	rejects(t, app, uniqueViolation, "ledger_entries_by_lead_once", insertAnyEntry, lead, partner, "accrual", 4560)
	exec(t, app, insertAnyEntry, lead, partner, "return", -4560)
	exec(t, app, insertAnyEntry, lead, partner, "adjustment", 100)
	exec(t, app, insertAnyEntry, lead, partner, "adjustment", 100)
	exec(t, app, insertAnyEntry, nil, partner, "adjustment", 100)
	exec(t, app, insertAnyEntry, nil, partner, "adjustment", 100)
	if n := value[int](t, app, `SELECT count(*) FROM ledger_entries WHERE lead_id = $1`, lead); n != 4 {
		t.Errorf("the lead has %d entries, want 4", n)
	}
}

// The reference of an entry is unique among the partner's entries of the same kind.
func TestEntryReferenceIsUnique(t *testing.T) {
	app := testkit.Connect(t, testkit.NewDatabaseURLs(t).AppURL)
	partner, other := uuid.New(), uuid.New()
	lead := putLead(t, app, partner, false, testkit.StartTime())
	for kind, minor := range map[string]int{"return": -4560, "adjustment": 100, "payment": -100} {
		exec(t, app, insertSameEntry, lead, partner, kind, minor)
		rejects(t, app, uniqueViolation, "ledger_entries_reference_key", insertSameEntry, lead, partner, kind, minor)
		exec(t, app, insertSameEntry, lead, other, kind, minor)
	}
	rejects(t, app, uniqueViolation, "ledger_entries_reference_key", insertSameEntry, nil, partner, "adjustment", 200)
}

// Every lookup by lead uses an index, including the foreign key check when a lead is deleted.
func TestLookupsByLeadUseIndex(t *testing.T) {
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

// The migrations that remove indexes or make them smaller can be undone without losing rows, and can
// be repeated after an interruption.
func TestStep15AndStep16CanBeUndone(t *testing.T) {
	d := testkit.NewEmptyDatabase(t)
	owner, conn := openOwner(t, d), testkit.Connect(t, d.OwnerURL)
	upTo(t, owner, 14)
	partner := uuid.New()
	lead := putLead(t, conn, partner, false, testkit.StartTime())
	exec(t, conn, insertSameEntry, lead, partner, "return", -4560)
	for _, step := range []struct {
		to            int64
		broken        []string // the statements before the interruption
		before, after string   // the unique index for the lead's accrual
	}{
		{15, []string{
			`CREATE INDEX lead_events_key ON lead_events (at)`, `CREATE INDEX ledger_entries_by_lead_once ON ledger_entries (occurred_at)`,
			`DROP INDEX ledger_entries_one_accrual`,
		}, "ledger_entries_one_accrual", "ledger_entries_by_lead_once"},
		{16, []string{
			`ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_reference_key`,
			`CREATE INDEX ledger_entries_reference_key ON ledger_entries (occurred_at)`, `CREATE INDEX ledger_entries_reference_new ON ledger_entries (occurred_at)`,
			`CREATE INDEX leads_by_span_email ON leads (received_at)`, `DROP INDEX leads_by_day_phone`,
		}, "ledger_entries_by_lead_once", "ledger_entries_by_lead_once"},
	} {
		before := readCatalogue(t, owner)
		for _, done := range step.broken {
			exec(t, conn, done)
		}
		upTo(t, owner, step.to)
		after := readCatalogue(t, owner)
		if slices.Equal(before, after) {
			t.Fatalf("%d: the migration does not change the catalogue", step.to)
		}
		guarded := func(accrual string) {
			t.Helper()
			rejects(t, conn, uniqueViolation, accrual, insertAnyEntry, lead, partner, "accrual", 4560)
			rejects(t, conn, uniqueViolation, "ledger_entries_reference_key", insertSameEntry, lead, partner, "return", -4560)
		}
		guarded(step.after)
		downTo(t, owner, step.to-1)
		if got := readCatalogue(t, owner); !slices.Equal(got, before) {
			t.Errorf("%d: undoing it does not restore the catalogue:\n%s", step.to, strings.Join(got, "\n"))
		}
		guarded(step.before)
		upTo(t, owner, step.to)
		if got := readCatalogue(t, owner); !slices.Equal(got, after) {
			t.Errorf("%d: applying it again gives another result:\n%s", step.to, strings.Join(got, "\n"))
		}
	}
}
