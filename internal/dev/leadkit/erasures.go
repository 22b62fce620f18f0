package leadkit

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
)

// Erase erases a lead at the consumer's request.
func (k Kit) Erase(t *testing.T, lead uuid.UUID) (erasure.Receipt, error) {
	t.Helper()
	return k.Erasures.Erase(t.Context(), scope.System,
		erasure.NewErasure{Lead: lead, Reason: models.EraseForRequest, Note: "ticket 7"})
}

// Reveal reveals the email address of a lead.
func (k Kit) Reveal(t *testing.T, lead uuid.UUID) (string, error) {
	t.Helper()
	return k.Reveals.Reveal(t.Context(), scope.System,
		reveal.NewReveal{Lead: lead, Field: models.ContactEmail, Reason: models.RevealForReturn})
}

// PlaceHold places a legal hold on a lead or, if person is true, on its person.
func PlaceHold(t *testing.T, s *erasure.Service, lead uuid.UUID, person bool) models.LegalHold {
	t.Helper()
	h, err := s.PlaceHold(t.Context(), scope.System, erasure.NewHold{Lead: lead, Person: person, Reason: " case 7 "})
	if err != nil || h.Reason != "case 7" || h.Person != person {
		t.Fatalf("got %+v, %v", h, err)
	}
	return h
}

// RowsWith returns the tables that have rows containing a text, in any letter case, each with the number of these rows:
// "leads: 2".
func RowsWith(t *testing.T, d *testkit.Database, text string) (found []string) {
	t.Helper()
	conn := testkit.Connect(t, d.RootURL)
	rows, err := conn.Query(t.Context(), `SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace IN ('public'::regnamespace, 'river'::regnamespace)`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		var n int
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM `+table+` AS r WHERE strpos(lower(r::text), lower($1)) > 0`, text).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			found = append(found, fmt.Sprintf("%s: %d", table, n))
		}
	}
	return found
}

// AddNotes adds a decided return with its note in the ledger, and a ping.
func (k Kit) AddNotes(t *testing.T, lead uuid.UUID) {
	t.Helper()
	if _, err := k.Reveals.Reveal(t.Context(), scope.System, reveal.NewReveal{Lead: lead, Field: models.ContactEmail, Reason: models.RevealForOther, Note: "canary-reveal"}); err != nil {
		t.Fatal(err)
	}
	k.DB.Exec(t, `INSERT INTO returns (id, lead_id, partner_id, account_id, amount_minor, currency, reason, evidence, requested_by, requested_at, state, decided_by, decided_at, decision_note)
		SELECT gen_random_uuid(), id, partner_id, account_id, price_minor, currency, 'fraud', 'canary-evidence', 'ann', received_at, 'accepted', 'ann', received_at, 'canary-decision' FROM leads WHERE id = $1`, lead)
	k.DB.Exec(t, `INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
		SELECT partner_id, account_id, id, 'return', 'rt_1', -price_minor, currency, received_at FROM leads WHERE id = $1`, lead)
	k.DB.Exec(t, `INSERT INTO ledger_notes (entry_id, occurred_at, note) SELECT entry_id, occurred_at, 'canary-ledger' FROM ledger_references WHERE lead_id = $1`, lead)
	k.DB.Exec(t, `INSERT INTO reconciliations (id, partner_id, file_name, file_size, file_sha256, profile, state, created_by, created_at)
		SELECT id, partner_id, '', 0, '', '{}', 'comparing', 'ann', received_at FROM leads WHERE id = $1`, lead)
	k.DB.Exec(t,
		`INSERT INTO reconciliation_lines (reconciliation_id, line, finding, lead_id) VALUES ($1, 1, 'unknown', $1)`, lead)
	k.DB.Exec(t, `INSERT INTO reconciliation_resolutions (reconciliation_id, line, note, resolved_by, at) VALUES ($1, 1, 'canary-resolution', 'ann', now())`, lead)
	if err := k.DB.EnsurePingPartitions(t.Context(), k.Time.Now(), 1); err != nil {
		t.Fatal(err)
	}
	k.DB.Exec(t, `INSERT INTO pings SELECT id, quoted_at, partner_id, sandbox, term_id, country, 'SW1A 1AA', urgency, 'canary-job', '', 'priced', price_minor, currency, card_version, 100 FROM leads WHERE id = $1`, lead)
}

// AddLedgerEntry adds a ledger entry with a note, and returns the ID of the note.
func (k Kit) AddLedgerEntry(t *testing.T, kind models.EntryKind, reference, note string, lead *uuid.UUID) string {
	t.Helper()
	amount := map[models.EntryKind]int{models.EntryReturn: -500, models.EntryAdjustment: 700, models.EntryPayment: -900}[kind]
	k.DB.Exec(t, `INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at, created_by)
		VALUES ($1, $2, $3, $4, $5, $6, 'GBP', $7, 'ann@example.com')`,
		k.Required.ID, k.Required.Accounts[0].ID, lead, string(kind), reference, amount, k.Time.Now())
	entry := testkit.Value[int64](t, k.DB, `SELECT entry_id FROM ledger_references WHERE reference = $1`, reference)
	k.DB.Exec(t, `INSERT INTO ledger_notes (entry_id, occurred_at, note) VALUES ($1, $2, $3)`, entry, k.Time.Now(), note)
	return fmt.Sprint("ledger-", entry)
}

// AddLedgerExport adds a finished export with a file. If partners is nil, the user could see all partners.
func (k Kit) AddLedgerExport(t *testing.T, f payouts.Filter, partners []uuid.UUID) (file uuid.UUID) {
	t.Helper()
	filter, err := json.Marshal(struct {
		payouts.Filter
		All      bool        `json:"all,omitempty"`
		Partners []uuid.UUID `json:"partners,omitempty"`
	}{f, partners == nil, partners})
	if err != nil {
		t.Fatal(err)
	}
	file = uuid.New()
	k.DB.Exec(t, `INSERT INTO files (id, created_at, expires_at) VALUES ($1, now(), now() + interval '1 day')`, file)
	k.DB.Exec(t, `INSERT INTO exports (id, staff_id, filter, file_id, created_at) VALUES (gen_random_uuid(), $1, $2, $1, now())`,
		file, string(filter))
	return file
}

// Replay replays the journal. If eraseHeld is set, it confirms that leads under a legal hold are erased.
func Replay(t *testing.T, s *erasure.Service, eraseHeld bool) (erasure.Replayed, error) {
	t.Helper()
	plan, err := s.PlanReplay(t.Context())
	if err != nil {
		return erasure.Replayed{}, err
	}
	return s.Replay(t.Context(), plan, eraseHeld)
}

// WriteEntry signs an entry and writes it to the journal. It sets the platform and the key if they are missing.
func (k Kit) WriteEntry(t *testing.T, key ed25519.PrivateKey, e journal.Entry) {
	t.Helper()
	if e.Platform == "" {
		e.Platform = testkit.Value[string](t, k.DB, `SELECT platform::text FROM erasure_journal`)
	}
	if e.Key == nil {
		e.Key, _ = key.Public().(ed25519.PublicKey)
	}
	e.At, e.By = k.Time.Now().UTC(), id.Format(id.Staff, k.User.Staff)
	text, err := e.Sign(key)
	if err == nil {
		err = k.Journal.Write(t.Context(), e.Sequence, text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Stranger is a key that does not belong to the platform.
func Stranger() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, ed25519.SeedSize))
}

// BackUpAndRestore dumps the database and restores it as a new one.
func (k Kit) BackUpAndRestore(t *testing.T) *testkit.Database {
	t.Helper()
	restored := testkit.NewEmptyDatabase(t)
	file := filepath.Join(t.TempDir(), "pingpost.dump")
	for _, command := range [][]string{
		{"pg_dump", k.DB.OwnerURL, "--format=custom", "--file=" + file},
		{"pg_restore", "--dbname=" + restored.RootURL, "--exit-on-error", file},
	} {
		if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command[0], err, out)
		}
	}
	restored.DB = testkit.Open(t, restored.AppURL)
	return restored
}

// PauseAfter pauses transactions when they change a table, until the returned function is called.
func (k Kit) PauseAfter(t *testing.T, change string) (resume func()) {
	t.Helper()
	root := testkit.Connect(t, k.DB.RootURL)
	exec := func(sql string) {
		t.Helper()
		if _, err := root.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(`SELECT pg_advisory_lock(42)`)
	exec(`CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN NULL; END $$`)
	exec(`CREATE TRIGGER pause AFTER ` + change + ` FOR EACH STATEMENT EXECUTE FUNCTION pause()`)
	return func() { exec(`SELECT pg_advisory_unlock(42)`) }
}

// AwaitWaiting waits until n transactions wait for advisory locks.
func (k Kit) AwaitWaiting(t *testing.T, n int) {
	t.Helper()
	testkit.Eventually(t, time.Minute, "transactions wait", func() bool {
		return testkit.Value[int](t, k.DB, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`) == n
	})
}
