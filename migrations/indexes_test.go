package migrations_test

import (
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

// Every lookup by lead uses an index.
func TestLookupsByLeadUseIndex(t *testing.T) {
	app := testkit.Connect(t, testkit.NewDatabaseURLs(t).AppURL)
	exec(t, app, `SET enable_seqscan = off`)
	const ofLead = `WHERE lead_id = '019b7d00-0000-7000-8000-000000000001'` // of January 2026
	for query, index := range map[string]string{
		`SELECT FROM ledger_entries ` + ofLead:                           "ledger_entries_by_lead_once",
		`SELECT FROM ledger_entries ` + ofLead + ` AND kind = 'accrual'`: "ledger_entries_by_lead_once",
		`SELECT FROM lead_events ` + ofLead + ` ORDER BY id`:             "lead_events_20260101_pkey",
	} {
		plan := value[string](t, app, "EXPLAIN (FORMAT JSON) "+query)
		if !strings.Contains(plan, `"Index Name": "`+index+`"`) || !strings.Contains(plan, `"Index Cond": "(lead_id`) {
			t.Errorf("%s does not use %s:\n%s", query, index, plan)
		}
	}
}
