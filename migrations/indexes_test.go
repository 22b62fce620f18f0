package migrations_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// insertAnyEntry inserts an entry with a unique reference. insertSameEntry inserts an entry whose
// reference is always the same.
const (
	insertAnyEntry  = insertEntryOf + `, gen_random_uuid()::text)`
	insertSameEntry = insertEntryOf + `, 'once')`

	insertEntryOf = `INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, amount_minor, currency, occurred_at, reference)
		VALUES ($2, gen_random_uuid(), $1, $3, $4, 'GBP', now()`
)

// A lead can have any number of adjustments, even if their amounts and times are the same.
func TestLeadHasSeveralEntries(t *testing.T) {
	app := testkit.Connect(t, testkit.NewDatabaseURLs(t).AppURL)
	partner := uuid.New()
	lead := putLead(t, app, partner, false, testkit.StartTime())
	exec(t, app, insertAnyEntry, lead, partner, "return", -4560)
	for range 2 {
		exec(t, app, insertAnyEntry, lead, partner, "adjustment", 100)
		exec(t, app, insertAnyEntry, nil, partner, "adjustment", 100)
	}
	if n := value[int](t, app, `SELECT count(*) FROM ledger_entries WHERE lead_id = $1`, lead); n != 4 {
		t.Errorf("the lead has %d entries, want 4", n)
	}
}

// The reference of an entry is unique among the partner's entries of the same kind, in all months.
// ledger_references refers to the entry.
func TestEntryReferenceIsUnique(t *testing.T) {
	app := testkit.Connect(t, testkit.NewDatabaseURLs(t).AppURL)
	partner, other := uuid.New(), uuid.New()
	lead := putLead(t, app, partner, false, testkit.StartTime())
	for kind, minor := range map[string]int{"return": -4560, "adjustment": 100, "payment": -100} {
		exec(t, app, insertSameEntry, lead, partner, kind, minor)
		rejects(t, app, uniqueViolation, "ledger_references_pkey", insertSameEntry, lead, partner, kind, minor)
		exec(t, app, insertSameEntry, lead, other, kind, minor)
	}
	rejects(t, app, uniqueViolation, "ledger_references_pkey", insertSameEntry, nil, partner, "adjustment", 200)
	rejects(t, app, uniqueViolation, "ledger_references_pkey", `INSERT INTO ledger_entries (partner_id, account_id, kind, amount_minor, currency, occurred_at, reference)
		VALUES ($1, gen_random_uuid(), 'adjustment', 1, 'GBP', $2, 'once')`, partner, testkit.StartTime())
	if n := value[int](t, app, `SELECT count(*) FROM ledger_references r JOIN ledger_entries e ON e.id = r.entry_id AND e.occurred_at = r.occurred_at
		AND (e.partner_id, e.kind, e.reference) = (r.partner_id, r.kind, r.reference) AND e.lead_id = r.lead_id`); n != 6 {
		t.Errorf("got %d references, want 6", n)
	}
}

// Every lookup by lead uses an index.
func TestLookupsByLeadUseIndex(t *testing.T) {
	app := testkit.Connect(t, testkit.NewDatabaseURLs(t).AppURL)
	exec(t, app, `SET enable_seqscan = off`)
	const ofLead = `WHERE lead_id = '019b7d00-0000-7000-8000-000000000001'` // of January 2026
	for query, index := range map[string]string{
		`SELECT FROM ledger_entries ` + ofLead + ` AND occurred_at = '2026-01-02'`: "ledger_entries_20260101_lead_id_idx",
		`SELECT FROM ledger_references ` + ofLead:                                  "ledger_references_by_lead",
		`SELECT FROM lead_events ` + ofLead + ` ORDER BY id`:                       "lead_events_20260101_pkey",
	} {
		plan := value[string](t, app, "EXPLAIN (FORMAT JSON) "+query)
		if !strings.Contains(plan, `"Index Name": "`+index+`"`) || !strings.Contains(plan, `"Index Cond": "(lead_id`) {
			t.Errorf("%s does not use %s:\n%s", query, index, plan)
		}
	}
}
