package erasure_test

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

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
)

const ledgerRows = `SELECT string_agg(e::text, '; ' ORDER BY id) FROM ledger_entries e`

func TestEraseDeletesPersonalData(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	other := r.Deliver(t, leadkit.Contact)
	lead, again := r.Post(t, leadkit.Contact)
	r.AddNotes(t, lead)
	ledger := testkit.Value[string](t, r.DB, ledgerRows)
	if found := leadkit.RowsWith(t, r.DB, "canary"); len(found) < 5 {
		t.Fatalf("only these tables contain the canaries before the erasure: %v", found)
	}
	receipt, err := r.Erase(t, lead)
	if err != nil || receipt.Lead != lead || receipt.Sequence != 1 || receipt.By != "fay@example.com" ||
		!receipt.ErasedAt.Equal(r.Time.Now()) {
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
		if found := leadkit.RowsWith(t, r.DB, canary); found != nil {
			t.Errorf("%s is still in %v", canary, found)
		}
	}
	if found := leadkit.RowsWith(t, r.DB, "canary-third-party"); len(found) != 1 || !strings.HasSuffix(found[0], ": 1") {
		t.Errorf("got consent details in %v, want only those of the other lead", found)
	}
	if after := testkit.Value[string](t, r.DB, ledgerRows); after != ledger {
		t.Errorf("the ledger changed:\n%s\n%s", ledger, after)
	}
	if incomplete, err := r.Leads.Incomplete(t.Context(), r.Time.Now().Add(-time.Hour),
		r.Time.Now().Add(time.Hour)); err != nil || len(incomplete) != 0 {
		t.Errorf("got incomplete leads %v, %v, want none", incomplete, err)
	}

	if _, err := r.Reveal(t, lead); !errors.Is(err, leads.ErrErased) {
		t.Errorf("reveal: got %v", err)
	}
	if _, err := r.Erase(t, lead); !errors.Is(err, leads.ErrErased) {
		t.Errorf("second erasure: got %v", err)
	}
	if _, err := again(); leadkit.Rejection(err) != "delivered already_delivered" {
		t.Errorf("the same post within 15 minutes: got %s", leadkit.Rejection(err))
	}
	r.Time.Advance(16 * time.Minute)
	if _, err := again(); !strings.HasPrefix(leadkit.Rejection(err), "expired ") {
		t.Errorf("the same post later: got %s", leadkit.Rejection(err))
	}
	if email, err := r.Reveal(t, other); err != nil || email != "Ann.Example@example.com" {
		t.Errorf("the other lead: got %q, %v", email, err)
	}
	if v, err := r.Erasures.Verify(t.Context()); err != nil || v.Entries != 1 || v.Head != receipt.Hash.String() {
		t.Errorf("verify: got %+v, %v", v, err)
	}
	if n := r.AuditEvents(t, "lead.erase", "done"); n != 1 {
		t.Errorf("got %d audit events, want 1", n)
	}
}

func TestEraseRejects(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead := r.Deliver(t, leadkit.Contact)
	for name, tt := range map[string]struct {
		scope   scope.Scope
		erasure erasure.NewErasure
		want    string
	}{
		"no such lead": {
			scope.System, erasure.NewErasure{Lead: uuid.New(), Reason: models.EraseForRequest}, "not_found lead",
		},
		"other partner": {
			scope.Partners(uuid.New()), erasure.NewErasure{Lead: lead, Reason: models.EraseForRequest}, "not_found lead",
		},
		"unknown reason": {scope.System, erasure.NewErasure{Lead: lead, Reason: "fun"}, "invalid reason"},
		"other, no note": {
			scope.System, erasure.NewErasure{Lead: lead, Reason: models.EraseForOther, Note: " "}, "invalid note",
		},
		"control in note": {
			scope.System, erasure.NewErasure{Lead: lead, Reason: models.EraseForLegal, Note: "a\x00b"}, "invalid note",
		},
		"note is too long": {
			scope.System,
			erasure.NewErasure{Lead: lead, Reason: models.EraseForLegal, Note: strings.Repeat("x", plaintext.MaxNote+1)},
			"invalid note",
		},
	} {
		if _, err := r.Erasures.Erase(t.Context(), tt.scope, tt.erasure); leadkit.Rejection(err) != tt.want {
			t.Errorf("%s: got %s, want %s", name, leadkit.Rejection(err), tt.want)
		}
	}
	without := r.Node(nil)
	if _, err := without.Erasures.Erase(t.Context(), scope.System,
		erasure.NewErasure{Lead: lead, Reason: models.EraseForLegal}); leadkit.Rejection(err) != "unavailable no_journal" {
		t.Errorf("without a journal: got %s", leadkit.Rejection(err))
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM erasure_entries`); n != 0 {
		t.Errorf("got %d entries, want 0", n)
	}
}

// The pending entry is committed first, then the journal is written, then the lead is erased. Whatever
// happens in between, the erasure is finished later.
func TestErasureIsFinishedLater(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*leadkit.Journal, bool){
		"journal's disk is full":           func(b *leadkit.Journal, on bool) { b.Full.Store(on) },
		"killed after writing the journal": func(b *leadkit.Journal, on bool) { b.Killed.Store(on) },
	} {
		t.Run(name, func(t *testing.T) {
			r := rig{leadkit.New(t)}
			lead := r.Deliver(t, leadkit.Contact)
			fault(r.Journal, true)
			if _, err := r.Erase(t, lead); leadkit.Rejection(err) != "unavailable erasure_pending" {
				t.Fatalf("got %s", leadkit.Rejection(err))
			}
			if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM lead_keys WHERE lead_id = $1`, lead); n != 1 {
				t.Errorf("got %d keys, want 1: nothing may be erased yet", n)
			}
			if receipt, found, err := r.Erasures.ReceiptOf(t.Context(), lead); err != nil || !found ||
				!receipt.ErasedAt.IsZero() {
				t.Errorf("got receipt %+v, %t, %v, want a pending one", receipt, found, err)
			}
			if _, err := r.Reveal(t, lead); !errors.Is(err, leads.ErrErased) {
				t.Errorf("reveal while the erasure is pending: got %v", err)
			}
			fault(r.Journal, false)
			for range 2 { // another node may do the same
				if err := r.Erasures.Finish(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM lead_keys WHERE lead_id = $1`, lead); n != 0 {
				t.Errorf("got %d keys, want 0", n)
			}
			if v, err := r.Erasures.Verify(t.Context()); err != nil || v.Entries != 1 {
				t.Errorf("verify: got %+v, %v", v, err)
			}
		})
	}
}

// Nodes erase the same and different leads at once, while keys are rotated and fields are revealed.
func TestConcurrentErasures(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	const n = 6
	wrappers := vaultWrappers(t) // reveals can decrypt leads before and after the rotation of their keys
	r.Services = leadkit.NewServices(r.DB.DB, wrappers, r.Keys, r.Journal, r.Time, leadkit.Settings{RevealsPerDay: n}).
		By(r.User)
	var all []uuid.UUID
	for i := range n {
		all = append(all, r.Deliver(t, fmt.Sprintf(`"contact":{"email":"person%d@example.com"}`, i)))
	}
	var wg sync.WaitGroup
	var erased [n]atomic.Int32
	for i, lead := range all {
		for range 2 {
			node := r.Node(r.Journal)
			wg.Go(func() {
				_, err := node.Erasures.Erase(context.Background(), scope.System,
					erasure.NewErasure{Lead: lead, Reason: models.EraseForLegal})
				if err == nil {
					erased[i].Add(1)
				} else if !errors.Is(err, leads.ErrErased) {
					t.Errorf("erase: %v", err)
				}
			})
		}
		wg.Go(func() {
			if _, err := r.Reveal(t, lead); err != nil && !errors.Is(err, leads.ErrErased) {
				t.Errorf("reveal: %v", err)
			}
		})
	}
	rotation := leads.KeyRotation{
		Leads: r.Leads, Wrappers: wrappers, Clock: clock.System{}, OnProgress: func(leads.RotationProgress) {},
	}
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
	if v, err := r.Erasures.Verify(t.Context()); err != nil || v.Entries != n {
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
	r := rig{leadkit.New(t)}
	lead := r.Deliver(t, leadkit.Contact)
	r.WriteEntry(t, r.Platform.Keys.JournalKeys()[0], journal.Entry{
		Platform: uuid.NewString(), Sequence: 1, Reason: "legal", Leads: []string{id.Format(id.Lead, lead)},
	})
	if _, err := leadkit.Replay(t, r.Erasures, true); leadkit.Rejection(err) != "unavailable journal_differs" {
		t.Errorf("replay: got %s", leadkit.Rejection(err))
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
			r := rig{leadkit.New(t)}
			lead := r.Deliver(t, leadkit.Contact)
			for _, table := range tables {
				r.DB.Exec(t, `CREATE TABLE saved_`+table+` AS SELECT * FROM `+table)
			}
			if _, err := r.Erase(t, lead); err != nil {
				t.Fatal(err)
			}
			for _, table := range tables {
				r.DB.Exec(t, `INSERT INTO `+table+` SELECT * FROM saved_`+table)
			}
			if _, err := r.Erasures.Verify(t.Context()); leadkit.Rejection(err) != "unavailable not_erased" {
				t.Errorf("verify: got %s", leadkit.Rejection(err))
			}
			if done, err := leadkit.Replay(t, r.Erasures, false); err != nil || done.Entries != 1 || done.Leads != 1 {
				t.Errorf("replay: got %+v, %v", done, err)
			}
			if v, err := r.Erasures.Verify(t.Context()); err != nil || v.Entries != 1 {
				t.Errorf("verify after the replay: got %+v, %v", v, err)
			}
			if n := testkit.Value[int](t, r.DB, `SELECT (SELECT count(*) FROM lead_keys) + (SELECT count(*) FROM disclosures)`); n != 0 {
				t.Errorf("got %d keys and texts after the replay, want 0", n)
			}
			if n := r.AuditEvents(t, "erasures.replay", "done"); n != 1 {
				t.Errorf("got %d audit events of replays, want 1", n)
			}
		})
	}
}

// A receipt in the database that differs from the journal is detected.
func TestVerifyComparesReceipts(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	var all []uuid.UUID
	for range 2 {
		lead := r.Deliver(t, leadkit.Contact)
		if _, err := r.Erase(t, lead); err != nil {
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
		if v, err := r.Erasures.Verify(t.Context()); err != nil || v.Entries != 2 {
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
		leadkit.Must(t, tx.Commit(t.Context()))
		if _, err := r.Erasures.Verify(t.Context()); leadkit.Rejection(err) != "unavailable journal_differs" {
			t.Errorf("%s: got %s", sql, leadkit.Rejection(err))
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
		leadkit.Must(t, tx.Commit(t.Context()))
	}
}

// If the journal is missing or empty, was changed or belongs to another platform, no personal data can be read.
func TestUnusableJournalClosesReveals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		damage func(t *testing.T, folder string)
		want   string
	}{
		"missing folder": {
			func(t *testing.T, folder string) { leadkit.Must(t, os.RemoveAll(folder)) }, "unavailable journal_unavailable",
		},
		"empty folder": {func(t *testing.T, folder string) {
			leadkit.Must(t, os.RemoveAll(folder))
			leadkit.Must(t, os.Mkdir(folder, 0o700))
		}, "unavailable journal_differs"},
		"missing entry": {func(t *testing.T, folder string) {
			leadkit.Must(t, os.Rename(filepath.Join(folder, "000000000001.json"), filepath.Join(folder, "000000000003.json")))
		}, "unavailable journal_differs"},
		"further entry": {func(t *testing.T, folder string) {
			leadkit.Must(t, os.WriteFile(filepath.Join(folder, "000000000003.json"), []byte(`{}`), 0o600))
		}, "unavailable journal_differs"},
		"changed entry": {func(t *testing.T, folder string) {
			leadkit.Must(t, os.WriteFile(filepath.Join(folder, "000000000001.json"), []byte(`{}`), 0o600))
		}, "unavailable journal_differs"},
	} {
		t.Run(name, func(t *testing.T) {
			r := rig{leadkit.New(t)}
			folder := t.TempDir()
			s := r.Node(journal.Folder(folder))
			erased, lead := r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.Contact)
			if _, err := s.Erasures.Erase(t.Context(), scope.System,
				erasure.NewErasure{Lead: erased, Reason: models.EraseForLegal}); err != nil {
				t.Fatal(err)
			}
			tt.damage(t, folder)
			_, err := s.Reveals.Reveal(t.Context(), scope.System,
				reveal.NewReveal{Lead: lead, Field: models.ContactEmail, Reason: models.RevealForReturn})
			if leadkit.Rejection(err) != tt.want {
				t.Errorf("got %s, want %s", leadkit.Rejection(err), tt.want)
			}
			if n := r.CountReveals(t); n != 0 {
				t.Errorf("got %d recorded reveals, want 0", n)
			}
			if _, err := s.Erasures.Verify(t.Context()); err == nil {
				t.Error("verify found no problem")
			}
			if _, err := leadkit.Replay(t, s.Erasures, true); err == nil {
				t.Error("replay found no problem")
			}
		})
	}
}

// The service can only erase leads that are in a journal entry.
func TestServiceErasesOnlyThroughEntries(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead := r.Deliver(t, leadkit.Contact)
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
	if _, err := r.Erase(t, lead); err != nil {
		t.Fatal(err)
	}
	if _, err := app.Exec(t.Context(), `INSERT INTO erasures VALUES (gen_random_uuid(), 1, '')`); err == nil {
		t.Error("a lead was added to an entry that was carried out")
	}
	other := r.Deliver(t, leadkit.Contact)
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
	r := rig{leadkit.New(t)}
	var all []uuid.UUID
	for range 3 {
		lead := r.Deliver(t, leadkit.Contact)
		if _, err := r.Erase(t, lead); err != nil {
			t.Fatal(err)
		}
		all = append(all, lead)
	}
	page, err := r.Erasures.Receipts(t.Context(), 0, 2)
	if err != nil || len(page) != 2 || page[0].Lead != all[2] || page[1].Lead != all[1] || page[0].Note != "ticket 7" {
		t.Fatalf("got %+v, %v", page, err)
	}
	if page, err = r.Erasures.Receipts(t.Context(), page[1].Sequence, 2); err != nil || len(page) != 1 ||
		page[0].Lead != all[0] {
		t.Errorf("next page: got %+v, %v", page, err)
	}
	text, err := r.Journal.Read(t.Context(), 1)
	if err != nil || !strings.Contains(string(text), id.Format(id.Lead, all[0])) ||
		strings.Contains(string(text), "ticket") || strings.Contains(string(text), "fay") {
		t.Errorf("got journal entry %s, %v", text, err)
	}
}
