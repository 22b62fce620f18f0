package privacy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/privacy"
	"github.com/pingpost/pingpost/models"
)

// brokenJournal is a journal whose disk can be full, and whose node can be killed after it has written.
type brokenJournal struct {
	journal.Store
	full, killed atomic.Bool
	written      func() // if not nil, called after each write
}

var (
	errFull   = errors.New("no space left on device")
	errKilled = errors.New("killed")
)

func (b *brokenJournal) Write(ctx context.Context, sequence int64, text []byte) error {
	if b.full.Load() {
		return errFull
	}
	err := b.Store.Write(ctx, sequence, text)
	if b.killed.Load() {
		return errKilled
	}
	if b.written != nil {
		b.written()
	}
	return err
}

func (r rig) erase(t *testing.T, lead uuid.UUID) (privacy.Receipt, error) {
	t.Helper()
	return r.Erase(t.Context(), scope.System, privacy.Erasure{Lead: lead, Reason: models.EraseForRequest, Note: "ticket 7"})
}

func (r rig) reveal(t *testing.T, lead uuid.UUID) (string, error) {
	t.Helper()
	return r.Reveal(t.Context(), scope.System, privacy.Reveal{Lead: lead, Field: models.ContactEmail, Reason: models.RevealForReturn})
}

// rowsWith counts the rows in the whole database whose text contains a text, in any letter case.
func rowsWith(t *testing.T, d *testkit.Database, text string) (found []string) {
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

// addNotes adds a decided return with its note in the ledger, and a ping.
func (r rig) addNotes(t *testing.T, lead uuid.UUID) {
	t.Helper()
	if _, err := r.Reveal(t.Context(), scope.System, privacy.Reveal{Lead: lead, Field: models.ContactEmail, Reason: models.RevealForOther, Note: "canary-reveal"}); err != nil {
		t.Fatal(err)
	}
	r.DB.Exec(t, `INSERT INTO returns (id, lead_id, partner_id, account_id, amount_minor, currency, reason, evidence, requested_by, requested_at, state, decided_by, decided_at, decision_note)
		SELECT gen_random_uuid(), id, partner_id, account_id, price_minor, currency, 'fraud', 'canary-evidence', 'ann', received_at, 'accepted', 'ann', received_at, 'canary-decision' FROM leads WHERE id = $1`, lead)
	r.DB.Exec(t, `INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
		SELECT partner_id, account_id, id, 'return', 'rt_1', -price_minor, currency, received_at FROM leads WHERE id = $1`, lead)
	r.DB.Exec(t, `INSERT INTO ledger_notes (entry_id, occurred_at, note) SELECT entry_id, occurred_at, 'canary-ledger' FROM ledger_references WHERE lead_id = $1`, lead)
	r.DB.Exec(t, `INSERT INTO reconciliations (id, partner_id, file_name, file_size, file_sha256, profile, state, created_by, created_at)
		SELECT id, partner_id, '', 0, '', '{}', 'comparing', 'ann', received_at FROM leads WHERE id = $1`, lead)
	r.DB.Exec(t, `INSERT INTO reconciliation_lines (reconciliation_id, line, finding, lead_id) VALUES ($1, 1, 'unknown', $1)`, lead)
	r.DB.Exec(t, `INSERT INTO reconciliation_resolutions (reconciliation_id, line, note, resolved_by, at) VALUES ($1, 1, 'canary-resolution', 'ann', now())`, lead)
	if err := r.DB.EnsurePingPartitions(t.Context(), r.Time.Now(), 1); err != nil {
		t.Fatal(err)
	}
	r.DB.Exec(t, `INSERT INTO pings SELECT id, quoted_at, partner_id, sandbox, term_id, country, 'SW1A 1AA', urgency, 'canary-job', '', 'priced', price_minor, currency, card_version, 100 FROM leads WHERE id = $1`, lead)
}

const ledgerRows = `SELECT string_agg(e::text, '; ' ORDER BY id) FROM ledger_entries e`

func TestEraseDeletesPersonalData(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other := r.deliver(t, contact)
	lead, again := r.post(t, contact)
	r.addNotes(t, lead)
	ledger := testkit.Value[string](t, r.DB, ledgerRows)
	if found := rowsWith(t, r.DB, "canary"); len(found) < 5 {
		t.Fatalf("only these tables contain the canaries before the erasure: %v", found)
	}
	receipt, err := r.erase(t, lead)
	if err != nil || receipt.Lead != lead || receipt.Sequence != 1 || receipt.By != "fay@example.com" || !receipt.ErasedAt.Equal(r.Time.Now()) {
		t.Fatalf("got receipt %+v, %v", receipt, err)
	}

	stillHas := func(what string, want int, sql string, args ...any) {
		t.Helper()
		if n := testkit.Value[int](t, r.DB, sql, args...); n != want {
			t.Errorf("%s: got %d rows, want %d", what, n, want)
		}
	}
	stillHas("erased leads", 1, `SELECT count(*) FROM leads WHERE id = $1 AND state = 'erased' AND price_minor > 0 AND postcode = '' AND quoted_postcode = '' AND transaction_id = ''
		AND num_nonnulls(email_digest, phone_digest, ciphertext, iv, auth_tag) = 0`, lead)
	stillHas("keys", 0, `SELECT count(*) FROM lead_keys WHERE lead_id = $1`, lead)
	stillHas("pings", 0, `SELECT count(*) FROM pings WHERE transaction = $1`, lead)
	stillHas("consents", 1, `SELECT count(*) FROM consents WHERE lead_id = $1 AND acknowledged AND acknowledged_text = '2026-01-02T03:04' AND received_at IS NOT NULL`, lead)
	stillHas("other leads", 1, `SELECT count(*) FROM leads JOIN lead_keys ON lead_id = id WHERE id = $1 AND state = 'delivered' AND ciphertext IS NOT NULL`, other)
	for _, canary := range []string{"canary-reveal", "canary-evidence", "canary-decision", "canary-ledger", "canary-job", "canary-resolution"} {
		if found := rowsWith(t, r.DB, canary); found != nil {
			t.Errorf("%s is still in %v", canary, found)
		}
	}
	if found := rowsWith(t, r.DB, "canary-third-party"); len(found) != 1 || !strings.HasSuffix(found[0], ": 1") {
		t.Errorf("got consent details in %v, want only those of the other lead", found)
	}
	if after := testkit.Value[string](t, r.DB, ledgerRows); after != ledger {
		t.Errorf("the ledger changed:\n%s\n%s", ledger, after)
	}
	if incomplete, err := r.Leads.Incomplete(t.Context(), r.Time.Now().Add(-time.Hour), r.Time.Now().Add(time.Hour)); err != nil || len(incomplete) != 0 {
		t.Errorf("got incomplete leads %v, %v, want none", incomplete, err)
	}

	if _, err := r.reveal(t, lead); !errors.Is(err, leads.ErrErased) {
		t.Errorf("reveal: got %v", err)
	}
	if _, err := r.erase(t, lead); !errors.Is(err, leads.ErrErased) {
		t.Errorf("second erasure: got %v", err)
	}
	if _, err := again(); rejection(err) != "delivered already_delivered" {
		t.Errorf("the same post within 15 minutes: got %s", rejection(err))
	}
	r.Time.Advance(16 * time.Minute)
	if _, err := again(); !strings.HasPrefix(rejection(err), "expired ") {
		t.Errorf("the same post later: got %s", rejection(err))
	}
	if email, err := r.reveal(t, other); err != nil || email != "Ann.Example@example.com" {
		t.Errorf("the other lead: got %q, %v", email, err)
	}
	if v, err := r.VerifyErasures(t.Context()); err != nil || v.Entries != 1 || v.Head != receipt.Hash.String() {
		t.Errorf("verify: got %+v, %v", v, err)
	}
	if n := r.auditEvents(t, "lead.erase", "done"); n != 1 {
		t.Errorf("got %d audit events, want 1", n)
	}
}

func TestEraseRejects(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.deliver(t, contact)
	for name, tt := range map[string]struct {
		scope   scope.Scope
		erasure privacy.Erasure
		want    string
	}{
		"no such lead":     {scope.System, privacy.Erasure{Lead: uuid.New(), Reason: models.EraseForRequest}, "not_found lead"},
		"other partner":    {scope.Partners(uuid.New()), privacy.Erasure{Lead: lead, Reason: models.EraseForRequest}, "not_found lead"},
		"unknown reason":   {scope.System, privacy.Erasure{Lead: lead, Reason: "fun"}, "invalid reason"},
		"other, no note":   {scope.System, privacy.Erasure{Lead: lead, Reason: models.EraseForOther, Note: " "}, "invalid note"},
		"control in note":  {scope.System, privacy.Erasure{Lead: lead, Reason: models.EraseForLegal, Note: "a\x00b"}, "invalid note"},
		"note is too long": {scope.System, privacy.Erasure{Lead: lead, Reason: models.EraseForLegal, Note: strings.Repeat("x", plaintext.MaxNote+1)}, "invalid note"},
	} {
		if _, err := r.Erase(t.Context(), tt.scope, tt.erasure); rejection(err) != tt.want {
			t.Errorf("%s: got %s, want %s", name, rejection(err), tt.want)
		}
	}
	without := newService(r.DB, r.Platform, nil)
	if _, err := without.Erase(t.Context(), scope.System, privacy.Erasure{Lead: lead, Reason: models.EraseForLegal}); rejection(err) != "unavailable no_journal" {
		t.Errorf("without a journal: got %s", rejection(err))
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM erasure_entries`); n != 0 {
		t.Errorf("got %d entries, want 0", n)
	}
}

// The pending entry is committed first, then the journal is written, then the lead is erased. Whatever
// happens in between, the erasure is finished later.
func TestErasureIsFinishedLater(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*brokenJournal, bool){
		"journal's disk is full":           func(b *brokenJournal, on bool) { b.full.Store(on) },
		"killed after writing the journal": func(b *brokenJournal, on bool) { b.killed.Store(on) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			lead := r.deliver(t, contact)
			fault(r.journal, true)
			if _, err := r.erase(t, lead); rejection(err) != "unavailable erasure_pending" {
				t.Fatalf("got %s", rejection(err))
			}
			if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM lead_keys WHERE lead_id = $1`, lead); n != 1 {
				t.Errorf("got %d keys, want 1: nothing may be erased yet", n)
			}
			if receipt, found, err := r.ReceiptOf(t.Context(), lead); err != nil || !found || !receipt.ErasedAt.IsZero() {
				t.Errorf("got receipt %+v, %t, %v, want a pending one", receipt, found, err)
			}
			if _, err := r.reveal(t, lead); !errors.Is(err, leads.ErrErased) {
				t.Errorf("reveal while the erasure is pending: got %v", err)
			}
			fault(r.journal, false)
			for range 2 { // another node may do the same
				if err := r.FinishErasures(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM lead_keys WHERE lead_id = $1`, lead); n != 0 {
				t.Errorf("got %d keys, want 0", n)
			}
			if v, err := r.VerifyErasures(t.Context()); err != nil || v.Entries != 1 {
				t.Errorf("verify: got %+v, %v", v, err)
			}
		})
	}
}

// Nodes erase the same and different leads at once, beside a key rotation and reveals.
func TestConcurrentErasures(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const n = 6
	wrappers := vaultWrappers(t) // reveals can decrypt leads before and after the rotation of their keys
	r.Service = privacy.NewService(r.DB.DB, wrappers, r.Keys, r.journal, r.Time, privacy.Settings{RevealsPerDay: n}).By(r.user)
	var all []uuid.UUID
	for i := range n {
		all = append(all, r.deliver(t, fmt.Sprintf(`"contact":{"email":"person%d@example.com"}`, i)))
	}
	var wg sync.WaitGroup
	var erased [n]atomic.Int32
	for i, lead := range all {
		for range 2 {
			node := newService(r.DB, r.Platform, r.journal).By(r.user)
			wg.Go(func() {
				_, err := node.Erase(context.Background(), scope.System, privacy.Erasure{Lead: lead, Reason: models.EraseForLegal})
				if err == nil {
					erased[i].Add(1)
				} else if !errors.Is(err, leads.ErrErased) {
					t.Errorf("erase: %v", err)
				}
			})
		}
		wg.Go(func() {
			if _, err := r.reveal(t, lead); err != nil && !errors.Is(err, leads.ErrErased) {
				t.Errorf("reveal: %v", err)
			}
		})
	}
	rotation := leads.KeyRotation{Leads: r.Leads, Wrappers: wrappers, Clock: clock.System{}, OnProgress: func(leads.RotationProgress) {}}
	wg.Go(func() {
		if _, err := rotation.Rewrap(context.Background()); err != nil {
			t.Errorf("rewrap: %v", err)
		}
	})
	wg.Wait()
	for i := range erased {
		if got := erased[i].Load(); got != 1 {
			t.Errorf("lead %d was erased %d times, want once", i, got)
		}
	}
	if left := testkit.Value[int](t, r.DB, `SELECT count(*) FROM lead_keys`); left != 0 {
		t.Errorf("got %d keys, want 0", left)
	}
	if v, err := r.VerifyErasures(t.Context()); err != nil || v.Entries != n {
		t.Errorf("verify: got %+v, %v, want %d entries", v, err, n)
	}
}

// vaultWrappers returns wrappers that write with Vault and read leads wrapped with the tests' local key.
func vaultWrappers(t *testing.T) *envelope.Wrappers {
	t.Helper()
	local, err := envelope.NewLocal(bytes.Repeat([]byte{0xEE}, envelope.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return envelope.NewWrappers(testkit.NewVault(t).Wrapper(t, devvault.Rewrap), local)
}

// A journal of another platform erases nothing.
func TestJournalOfAnotherPlatform(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.deliver(t, contact)
	r.writeEntry(t, r.Platform.Keys.JournalKeys()[0], journal.Entry{
		Platform: uuid.NewString(), Sequence: 1, Reason: "legal", Leads: []string{id.Format(id.Lead, lead)},
	})
	if _, err := replay(t, r.Service, true); rejection(err) != "unavailable journal_differs" {
		t.Errorf("replay: got %s", rejection(err))
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM lead_keys`); n != 1 {
		t.Errorf("got %d keys, want 1", n)
	}
}

// If only some tables were restored from a backup, the entries match, but the leads are back.
func TestReplayErasesRestoredTables(t *testing.T) {
	t.Parallel()
	for name, tables := range map[string][]string{"keys": {"lead_keys"}, "disclosure texts": {"disclosures", "disclosure_uses"}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			lead := r.deliver(t, contact)
			for _, table := range tables {
				r.DB.Exec(t, `CREATE TABLE saved_`+table+` AS SELECT * FROM `+table)
			}
			if _, err := r.erase(t, lead); err != nil {
				t.Fatal(err)
			}
			for _, table := range tables {
				r.DB.Exec(t, `INSERT INTO `+table+` SELECT * FROM saved_`+table)
			}
			if _, err := r.VerifyErasures(t.Context()); rejection(err) != "unavailable not_erased" {
				t.Errorf("verify: got %s", rejection(err))
			}
			if done, err := replay(t, r.Service, false); err != nil || done.Entries != 1 || done.Leads != 1 {
				t.Errorf("replay: got %+v, %v", done, err)
			}
			if v, err := r.VerifyErasures(t.Context()); err != nil || v.Entries != 1 {
				t.Errorf("verify after the replay: got %+v, %v", v, err)
			}
			if n := testkit.Value[int](t, r.DB, `SELECT (SELECT count(*) FROM lead_keys) + (SELECT count(*) FROM disclosures)`); n != 0 {
				t.Errorf("got %d keys and texts after the replay, want 0", n)
			}
			if n := r.auditEvents(t, "erasures.replay", "done"); n != 1 {
				t.Errorf("got %d audit events of replays, want 1", n)
			}
		})
	}
}

// A receipt in the database that says something else than the journal is detected.
func TestVerifyComparesReceipts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var all []uuid.UUID
	for range 2 {
		lead := r.deliver(t, contact)
		if _, err := r.erase(t, lead); err != nil {
			t.Fatal(err)
		}
		all = append(all, lead)
	}
	root := testkit.Connect(t, r.DB.RootURL)
	for _, sql := range []string{
		`DELETE FROM erasures WHERE lead_id = $1`, `UPDATE erasures SET lead_id = gen_random_uuid() WHERE lead_id = $1`,
		`UPDATE erasure_entries SET reason = 'legal' WHERE sequence = (SELECT sequence FROM erasures WHERE lead_id = $1)`,
		`UPDATE erasure_entries SET requested_at = requested_at - interval '1 day' WHERE sequence = (SELECT sequence FROM erasures WHERE lead_id = $1)`,
		`UPDATE erasure_entries SET staff_id = (SELECT id FROM staff WHERE id <> staff_id LIMIT 1), keeps_consent = true WHERE sequence = (SELECT sequence FROM erasures WHERE lead_id = $1)`,
	} {
		if v, err := r.VerifyErasures(t.Context()); err != nil || v.Entries != 2 {
			t.Fatalf("before %s: got %+v, %v", sql, v, err)
		}
		tx, err := root.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{`SET LOCAL session_replication_role = replica`, `CREATE TABLE erasures_before AS TABLE erasures`, `CREATE TABLE entries_before AS TABLE erasure_entries`} {
			if _, err := tx.Exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		if tag, err := tx.Exec(t.Context(), sql, all[1]); err != nil || tag.RowsAffected() != 1 {
			t.Fatalf("%s: %v, %v", sql, tag, err)
		}
		must(t, tx.Commit(t.Context()))
		if _, err := r.VerifyErasures(t.Context()); rejection(err) != "unavailable journal_differs" {
			t.Errorf("%s: got %s", sql, rejection(err))
		}
		tx, err = root.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{
			`SET LOCAL session_replication_role = replica`, `DELETE FROM erasures`, `INSERT INTO erasures TABLE erasures_before`,
			`DELETE FROM erasure_entries`, `INSERT INTO erasure_entries TABLE entries_before`, `DROP TABLE erasures_before, entries_before`,
		} {
			if _, err := tx.Exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		must(t, tx.Commit(t.Context()))
	}
}

// If the journal is missing, empty, changed or of another platform, no personal data can be read.
func TestUnusableJournalClosesReveals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		damage func(t *testing.T, folder string)
		want   string
	}{
		"missing folder": {func(t *testing.T, folder string) { must(t, os.RemoveAll(folder)) }, "unavailable journal_unavailable"},
		"empty folder": {func(t *testing.T, folder string) {
			must(t, os.RemoveAll(folder))
			must(t, os.Mkdir(folder, 0o700))
		}, "unavailable journal_differs"},
		"missing entry": {func(t *testing.T, folder string) {
			must(t, os.Rename(filepath.Join(folder, "000000000001.json"), filepath.Join(folder, "000000000003.json")))
		}, "unavailable journal_differs"},
		"further entry": {func(t *testing.T, folder string) {
			must(t, os.WriteFile(filepath.Join(folder, "000000000003.json"), []byte(`{}`), 0o600))
		}, "unavailable journal_differs"},
		"changed entry": {func(t *testing.T, folder string) {
			must(t, os.WriteFile(filepath.Join(folder, "000000000001.json"), []byte(`{}`), 0o600))
		}, "unavailable journal_differs"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			folder := t.TempDir()
			s := newService(r.DB, r.Platform, journal.Folder(folder)).By(r.user)
			erased, lead := r.deliver(t, contact), r.deliver(t, contact)
			if _, err := s.Erase(t.Context(), scope.System, privacy.Erasure{Lead: erased, Reason: models.EraseForLegal}); err != nil {
				t.Fatal(err)
			}
			tt.damage(t, folder)
			_, err := s.Reveal(t.Context(), scope.System, privacy.Reveal{Lead: lead, Field: models.ContactEmail, Reason: models.RevealForReturn})
			if rejection(err) != tt.want {
				t.Errorf("got %s, want %s", rejection(err), tt.want)
			}
			if n := r.reveals(t); n != 0 {
				t.Errorf("got %d recorded reveals, want 0", n)
			}
			if _, err := s.VerifyErasures(t.Context()); err == nil {
				t.Error("verify found no problem")
			}
			if _, err := replay(t, s, true); err == nil {
				t.Error("replay found no problem")
			}
		})
	}
}

// The service can only erase leads that are in a journal entry.
func TestServiceErasesOnlyThroughEntries(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.deliver(t, contact)
	app := testkit.Connect(t, r.DB.AppURL)
	for _, sql := range []string{
		`DELETE FROM lead_keys WHERE lead_id = $1`, `UPDATE leads SET state = 'erased' WHERE id = $1`,
		`UPDATE consents SET disclosure_digest = NULL WHERE lead_id = $1`,
	} {
		if _, err := app.Exec(t.Context(), sql, lead); err == nil {
			t.Errorf("%s succeeded", sql)
		}
	}
	for _, call := range []string{`SELECT erase_leads(1, now())`, `SELECT erase_leads(1, NULL)`} {
		if _, err := app.Exec(t.Context(), call); err == nil {
			t.Errorf("%s without an entry succeeded", call)
		}
	}
	if _, err := r.erase(t, lead); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Exec(t.Context(), `INSERT INTO erasures VALUES (gen_random_uuid(), 1, '')`); err == nil {
		t.Error("a lead was added to an entry that was carried out")
	}
	other := r.deliver(t, contact)
	root := testkit.Connect(t, r.DB.RootURL)
	if _, err := root.Exec(t.Context(), `UPDATE consents SET disclosure_digest = NULL, recipient_hash = NULL,
		form_cert_url = NULL, third_party_lead_id = NULL WHERE lead_id = $1`, other); err == nil {
		t.Error("the owner erased a consent without an entry")
	}
	for _, sql := range []string{
		`UPDATE erasure_entries SET reason = 'legal'`, `UPDATE erasure_entries SET erased_at = NULL`, `DELETE FROM erasures`, `UPDATE erasures SET note = ''`, `TRUNCATE erasure_entries CASCADE`,
		`UPDATE consents SET acknowledged_at = now()`, `UPDATE consents SET acknowledged_text = NULL`,
		`UPDATE consents SET disclosure_digest = 'other'`,
	} {
		if _, err := root.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s succeeded", sql)
		}
	}
}

func TestErasuresLists(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var all []uuid.UUID
	for range 3 {
		lead := r.deliver(t, contact)
		if _, err := r.erase(t, lead); err != nil {
			t.Fatal(err)
		}
		all = append(all, lead)
	}
	page, err := r.Erasures(t.Context(), 0, 2)
	if err != nil || len(page) != 2 || page[0].Lead != all[2] || page[1].Lead != all[1] || page[0].Note != "ticket 7" {
		t.Fatalf("got %+v, %v", page, err)
	}
	if page, err = r.Erasures(t.Context(), page[1].Sequence, 2); err != nil || len(page) != 1 || page[0].Lead != all[0] {
		t.Errorf("next page: got %+v, %v", page, err)
	}
	text, err := r.journal.Read(t.Context(), 1)
	if err != nil || !strings.Contains(string(text), id.Format(id.Lead, all[0])) || strings.Contains(string(text), "ticket") || strings.Contains(string(text), "fay") {
		t.Errorf("got journal entry %s, %v", text, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
