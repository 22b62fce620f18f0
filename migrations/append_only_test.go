package migrations_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// The owner can erase a note, which may contain personal data. The service cannot.
func TestOnlyOwnerChangesNotes(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app, owner := testkit.Connect(t, d.AppURL), testkit.Connect(t, d.OwnerURL)
	exec(t, app, `INSERT INTO ledger_notes (entry_id, occurred_at, note) VALUES (1, now(), 'the note'), (2, now(), 'the note')`)
	rejects(t, app, checkViolation, "ledger_notes_note_given", `INSERT INTO ledger_notes (entry_id, occurred_at, note) VALUES (3, now(), '')`)
	for _, sql := range []string{`UPDATE ledger_notes SET note = 'erased'`, `DELETE FROM ledger_notes WHERE entry_id = 2`} {
		rejects(t, app, insufficientPrivilege, "", sql)
		exec(t, owner, sql)
	}
	if got := value[string](t, app, `SELECT string_agg(note, ' ') FROM ledger_notes`); got != "erased" {
		t.Errorf("got notes %q, want one that is erased", got)
	}
}

// The grants restrict the service, and the triggers restrict all other roles.
func TestOwnerCannotChangeAppendOnlyTables(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	for name, url := range map[string]string{"owner": d.OwnerURL, "superuser": d.RootURL} {
		t.Run(name, func(t *testing.T) {
			conn := testkit.Connect(t, url)
			putLead(t, conn, uuid.New(), false, testkit.StartTime())
			exec(t, conn, `INSERT INTO audit_events (at, actor, role, action, object_kind, object_id, partner_id, reason, address, request_id, outcome, prev_hash, hash)
				VALUES (now(), 'ann', '', 'partner.approve', 'partner', '', NULL, '', '', '', 'done', sha256($1), sha256($1))`, []byte(name))
			exec(t, conn, insertAnyEntry, nil, uuid.New(), "adjustment", 100)
			partition := value[string](t, conn, `SELECT DISTINCT tableoid::regclass::text FROM ledger_entries`)
			for _, table := range []string{"ledger_entries", partition, "ledger_references", "consents", "consents_20260101", "audit_events"} {
				rejects(t, conn, insufficientPrivilege, "", `UPDATE `+table+` SET partner_id = gen_random_uuid()`)
				rejects(t, conn, insufficientPrivilege, "", `DELETE FROM `+table)
				rejects(t, conn, insufficientPrivilege, "", `TRUNCATE `+table+` CASCADE`) // CASCADE, because references would reject it first
			}
			rejects(t, conn, insufficientPrivilege, "", `TRUNCATE leads CASCADE`)
			rejects(t, conn, insufficientPrivilege, "", `TRUNCATE lead_events_20260101, lead_keys_20260101`)
			rejects(t, conn, insufficientPrivilege, "", `DELETE FROM leads_20260101`)
			rejects(t, conn, insufficientPrivilege, "", `DELETE FROM leads`)
		})
	}
	if n := testkit.Value[int](t, d, `SELECT (SELECT count(*) FROM ledger_entries) + (SELECT count(*) FROM ledger_references) + (SELECT count(*) FROM consents)`); n != 8 {
		t.Errorf("got %d rows left, want 8", n)
	}
}

func TestOnlyTheFunctionDeletesSandboxLeads(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app := testkit.Connect(t, d.AppURL)
	partner, day := uuid.New(), testkit.StartTime()
	old := putLead(t, app, partner, true, day)
	onTheDot := putLead(t, app, partner, true, day.Add(time.Hour))
	ordinary := putLead(t, app, partner, false, day)

	rejects(t, app, insufficientPrivilege, "", `DELETE FROM leads WHERE sandbox`)
	rejects(t, app, insufficientPrivilege, "", `DELETE FROM consents WHERE sandbox`)
	remove := func(before time.Time, atMost int) int64 {
		t.Helper()
		return value[int64](t, app, `SELECT delete_sandbox_leads($1, $2)`, before, atMost)
	}
	if n := remove(day.Add(time.Hour), 10); n != 1 {
		t.Errorf("deleted %d leads, want only the older one", n)
	}
	left := func(lead uuid.UUID) int {
		t.Helper()
		return value[int](t, app, `SELECT (SELECT count(*) FROM leads WHERE id = $1) + (SELECT count(*) FROM consents WHERE lead_id = $1)
			+ (SELECT count(*) FROM lead_events WHERE lead_id = $1)`, lead)
	}
	for lead, want := range map[uuid.UUID]int{old: 0, onTheDot: 3, ordinary: 3} {
		if n := left(lead); n != want {
			t.Errorf("got %d rows of a lead left, want %d", n, want)
		}
	}
	for range 3 {
		putLead(t, app, partner, true, day)
	}
	if n := remove(day.Add(time.Hour), 2); n != 2 {
		t.Errorf("deleted %d leads, want at most 2", n)
	}
}

// Even a role that may change the whole row cannot make a lead deletable by marking it as a sandbox
// lead.
func TestOrdinaryLeadsCannotBecomeDeletable(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app, owner := testkit.Connect(t, d.AppURL), testkit.Connect(t, d.OwnerURL)
	putLead(t, app, uuid.New(), false, testkit.StartTime())
	exec(t, owner, `UPDATE leads SET sandbox = true`)
	if n := value[int](t, app, `SELECT delete_sandbox_leads(now() + interval '100 years', 10)`); n != 0 {
		t.Errorf("deleted %d leads, want 0", n)
	}
	if n := value[int](t, app, `SELECT count(*) FROM leads`); n != 1 {
		t.Errorf("got %d leads left, want 1", n)
	}
}
