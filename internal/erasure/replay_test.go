package erasure_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/app/privacy"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/models"
)

// node returns a service on a database, with the given platform keys.
func (r rig) node(t *testing.T, d *testkit.Database, s leadkit.Settings, keys ...byte) privacy.Services {
	t.Helper()
	return leadkit.NewServices(d.DB, r.Wrappers, testkit.PlatformKeys(t, keys...), r.Journal, r.Time, s).By(r.User)
}

// A user who can write to the journal, but has neither the database nor a platform key, can make personal data
// unreadable for staff, but cannot erase anything. The error names the file.
func TestForgedEntriesEraseNothing(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	erased, lead := r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.Contact)
	receipt, err := r.Erase(t, erased)
	leadkit.Must(t, err)
	mine := r.Platform.Keys.JournalKeys()[0].Public().(ed25519.PublicKey)
	forged := func(edit func(*journal.Entry)) journal.Entry {
		e := journal.Entry{Sequence: 2, Previous: receipt.Hash, Reason: "request", Leads: []string{id.Format(id.Lead, lead)}}
		edit(&e)
		return e
	}
	for name, tt := range map[string]struct {
		file  string
		write func(t *testing.T)
	}{
		"key of a stranger": {
			"000000000002.json", func(t *testing.T) { r.WriteEntry(t, leadkit.Stranger(), forged(func(*journal.Entry) {})) },
		},
		"key of the platform, signature of a stranger": {"000000000002.json", func(t *testing.T) {
			r.WriteEntry(t, leadkit.Stranger(), forged(func(e *journal.Entry) { e.Key = mine }))
		}},
		"signature of another entry": {"000000000002.json", func(t *testing.T) {
			text, err := r.Journal.Read(t.Context(), 1)
			leadkit.Must(t, err)
			var first journal.Entry
			leadkit.Must(t, json.Unmarshal(text, &first))
			e := forged(func(*journal.Entry) {})
			e.Platform, e.At, e.By, e.Key, e.Signature = first.Platform, first.At, first.By, first.Key, first.Signature
			text, err = json.Marshal(e)
			leadkit.Must(t, err)
			leadkit.Must(t, r.Journal.Write(t.Context(), 2, text))
		}},
		"empty object far ahead": {
			"000000000099.json", func(t *testing.T) { leadkit.Must(t, r.Journal.Write(t.Context(), 99, []byte(`{}`))) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			tt.write(t)
			defer func() { leadkit.Must(t, os.Remove(filepath.Join(r.Folder, tt.file))) }()
			_, revealed := r.Reveal(t, lead)
			_, replayed := leadkit.Replay(t, r.Erasures, true)
			_, verified := r.Erasures.Verify(t.Context())
			for name, err := range map[string]error{"reveal": revealed, "replay": replayed, "verify": verified, "check": r.Erasures.CheckJournal(t.Context())} {
				if leadkit.Rejection(err) != "unavailable journal_differs" || !strings.Contains(apperr.As(err).Message, tt.file) {
					t.Errorf("%s: got %v", name, err)
				}
			}
		})
	}
	if email, err := r.Reveal(t, lead); err != nil || email == "" {
		t.Errorf("got %q, %v, want the address of the lead", email, err)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM erasure_entries`); n != 1 {
		t.Errorf("got %d entries, want 1", n)
	}
}

// The entries after a backup are replayed even if the journal's key was changed twice since the backup. The restored
// database does not know these keys.
func TestReplayFollowsChangesOfKey(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	first, second, third := r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.Contact)
	fourth := r.Deliver(t, leadkit.Contact)
	if _, err := r.Erase(t, first); err != nil {
		t.Fatal(err)
	}
	restored := r.BackUpAndRestore(t)
	erase := func(s privacy.Services, lead uuid.UUID) {
		t.Helper()
		if _, err := s.Erasures.Erase(t.Context(), scope.System,
			erasure.NewErasure{Lead: lead, Reason: models.EraseForLegal}); err != nil {
			t.Fatal(err)
		}
	}
	change := func(want bool, keys ...byte) privacy.Services {
		t.Helper()
		s := r.node(t, r.DB, leadkit.Settings{}, keys...)
		if changed, err := s.Erasures.ChangeJournalKey(t.Context()); err != nil || changed != want {
			t.Fatalf("changing the key: got %t, %v, want %t", changed, err, want)
		}
		return s
	}
	change(false, 1)
	erase(change(true, 2, 1), second)
	change(false, 2, 1)
	erase(change(true, 3, 2), third)

	older := r.node(t, restored, leadkit.Settings{}, 3, 2, 1)
	if err := older.Erasures.CheckJournal(t.Context()); leadkit.Rejection(err) != "unavailable journal_ahead" ||
		!strings.Contains(apperr.As(err).Message, "000000000002.json") {
		t.Errorf("before the replay: got %v", err)
	}
	plan, err := older.Erasures.PlanReplay(t.Context())
	if err != nil || len(plan) != 4 {
		t.Fatalf("got plan %+v, %v, want 4 entries", plan, err)
	}
	for i, leads := range [][]uuid.UUID{{}, {second}, {}, {third}} {
		var want []string
		for _, lead := range leads {
			want = append(want, id.Format(id.Lead, lead))
		}
		if e := plan[i]; e.Sequence != int64(i+2) || !slices.Equal(e.Leads, want) ||
			e.By != id.Format(id.Staff, r.User.Staff) || e.At.IsZero() {
			t.Errorf("got %+v, want entry %d with %v", e, i+2, want)
		}
	}
	if done, err := older.Erasures.Replay(t.Context(), plan, false); err != nil ||
		done != (erasure.Replayed{Entries: 4, Leads: 2}) {
		t.Errorf("replay: got %+v, %v", done, err)
	}
	erase(older, fourth)
	last := r.node(t, restored, leadkit.Settings{}, 3)
	if v, err := last.Erasures.Verify(t.Context()); err != nil || v.Entries != 6 {
		t.Errorf("verify without the older keys: got %+v, %v", v, err)
	}
	if key, known, err := last.Erasures.JournalKey(t.Context()); err != nil || !known ||
		key != testkit.PlatformKeys(t, 3).IDs()[0] {
		t.Errorf("got key %s, %t, %v", key, known, err)
	}
	other := r.node(t, restored, leadkit.Settings{}, 4)
	if _, known, err := other.Erasures.JournalKey(t.Context()); err != nil || known {
		t.Errorf("with another platform key: the key is known: %t, %v", known, err)
	}
	if _, err := other.Erasures.ChangeJournalKey(t.Context()); leadkit.Rejection(err) != "unavailable journal_key" {
		t.Errorf("changing the key with another platform key: got %s", leadkit.Rejection(err))
	}
}

// A backup from before the first erasure contains no key. The configured fingerprint, or a platform key, shows
// that the journal is the platform's.
func TestReplayFromBeforeTheFirstErasure(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead := r.Deliver(t, leadkit.Contact)
	empty := r.BackUpAndRestore(t)
	if _, err := r.Erase(t, lead); err != nil {
		t.Fatal(err)
	}
	v, err := r.Erasures.Verify(t.Context())
	leadkit.Must(t, err)
	known := leadkit.Settings{JournalFingerprint: v.Fingerprint}
	unknown := leadkit.Settings{JournalFingerprint: journal.Fingerprint(leadkit.Stranger().Public().(ed25519.PublicKey))}
	for name, tt := range map[string]struct {
		settings leadkit.Settings
		keys     []byte
		want     string
	}{
		"nothing is known":                 {leadkit.Settings{}, []byte{2}, "unavailable journal_key"},
		"another fingerprint":              {unknown, []byte{2, 1}, "unavailable journal_key"},
		"the fingerprint":                  {known, []byte{2}, "<nil>"},
		"the platform key of the first":    {leadkit.Settings{}, []byte{2, 1}, "<nil>"},
		"the fingerprint and platform key": {known, []byte{1}, "<nil>"},
	} {
		if plan, err := r.node(t, empty, tt.settings, tt.keys...).Erasures.PlanReplay(t.Context()); leadkit.Rejection(err) != tt.want || err == nil && len(plan) != 1 {
			t.Errorf("%s: got %+v, %v, want %s", name, plan, err, tt.want)
		}
	}
	if _, err := r.node(t, r.DB, unknown, 1).Erasures.Verify(t.Context()); leadkit.Rejection(err) != "unavailable journal_key" {
		t.Errorf("verify with another fingerprint: got %s", leadkit.Rejection(err))
	}

	// Someone replaces the whole journal.
	leadkit.Must(t, os.Remove(filepath.Join(r.Folder, "000000000001.json")))
	r.WriteEntry(t, leadkit.Stranger(),
		journal.Entry{Sequence: 1, Reason: "legal", Leads: []string{id.Format(id.Lead, lead)}})
	for _, settings := range []leadkit.Settings{{}, known} {
		if _, err := leadkit.Replay(t, r.node(t, empty, settings, 1).Erasures,
			true); leadkit.Rejection(err) != "unavailable journal_key" {
			t.Errorf("replaced journal: got %s", leadkit.Rejection(err))
		}
	}
	if n := testkit.Value[int](t, empty, `SELECT count(*) FROM lead_keys WHERE lead_id = $1`, lead); n != 1 {
		t.Errorf("got %d keys, want 1", n)
	}
	if _, err := leadkit.Replay(t, r.node(t, empty, unknown, 1).Erasures, true); err != nil {
		t.Errorf("with the fingerprint of the replaced journal: got %v", err)
	}
}

// The first entry is signed with the key whose fingerprint is configured, if the platform key has been replaced
// before the first erasure.
func TestFirstEntryHasConfiguredKey(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	settings := leadkit.Settings{
		JournalFingerprint: journal.Fingerprint(testkit.PlatformKeys(t, 1).JournalKeys()[0].Public().(ed25519.PublicKey)),
	}
	erasure := erasure.NewErasure{Lead: r.Deliver(t, leadkit.Contact), Reason: models.EraseForLegal}
	if _, err := r.node(t, r.DB, settings, 2).Erasures.Erase(t.Context(), scope.System,
		erasure); leadkit.Rejection(err) != "unavailable journal_key" {
		t.Errorf("without the key: got %s", leadkit.Rejection(err))
	}
	s := r.node(t, r.DB, settings, 2, 1)
	if _, err := s.Erasures.Erase(t.Context(), scope.System, erasure); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Erasures.Verify(t.Context()); err != nil || v.Fingerprint != settings.JournalFingerprint {
		t.Errorf("got %+v, %v", v, err)
	}
}

// A legal hold that was released after the backup is active again in the restored database. The user decides
// whether the lead is erased.
func TestReplayAsksAboutLegalHolds(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	held, other := r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.Contact)
	hold, err := r.Erasures.PlaceHold(t.Context(), scope.System, erasure.NewHold{Lead: held, Reason: "case 7"})
	leadkit.Must(t, err)
	restored := r.BackUpAndRestore(t)
	leadkit.Must(t, r.Erasures.ReleaseHold(t.Context(), scope.System, hold.ID))
	for _, lead := range []uuid.UUID{other, held} {
		if _, err := r.Erase(t, lead); err != nil {
			t.Fatal(err)
		}
	}
	older := r.node(t, restored, leadkit.Settings{}, 1)
	plan, err := older.Erasures.PlanReplay(t.Context())
	leadkit.Must(t, err)
	if len(plan) != 2 || len(plan[0].Held) != 0 || !slices.Equal(plan[1].Held, []string{id.Format(id.Lead, held)}) {
		t.Errorf("got plan %+v", plan)
	}
	if done, err := older.Erasures.Replay(t.Context(), plan, false); leadkit.Rejection(err) != "conflict legal_hold" ||
		done.Entries != 0 {
		t.Errorf("without an answer: got %+v, %v", done, err)
	}
	if n := testkit.Value[int](t, restored, `SELECT count(*) FROM lead_keys`); n != 2 {
		t.Errorf("got %d keys, want 2: nothing may be erased yet", n)
	}
	if done, err := older.Erasures.Replay(t.Context(), plan, true); err != nil ||
		done != (erasure.Replayed{Entries: 2, Leads: 2, Held: 1}) {
		t.Errorf("replay: got %+v, %v", done, err)
	}
	type recorded struct {
		Entry       int64
		Leads, Held []string
		Answer      bool `json:"erase_held"`
	}
	for i, lead := range []uuid.UUID{other, held} {
		var got recorded
		text := testkit.Value[string](t, restored,
			`SELECT after::text FROM audit_events WHERE action = 'erasures.replay' ORDER BY id OFFSET $1 LIMIT 1`, i)
		leadkit.Must(t, json.Unmarshal([]byte(text), &got))
		if got.Entry != int64(i+1) || !got.Answer || !slices.Equal(got.Leads, []string{id.Format(id.Lead, lead)}) ||
			len(got.Held) != i {
			t.Errorf("got audit event %s", text)
		}
	}
	if _, err := older.Erasures.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// If a legal hold may have unknown leads, because a platform key was replaced, the user is asked about all leads.
// Otherwise the hold could permanently prevent staff from reading personal data.
func TestReplayAsksAboutUnknownHolds(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	held, erased := r.Deliver(t, leadkit.Contact), r.Deliver(t, `"contact":{"email":"other@example.com"}`)
	_, err := r.Erasures.PlaceHold(t.Context(), scope.System, erasure.NewHold{Lead: held, Person: true, Reason: "case 7"})
	leadkit.Must(t, err)
	restored := r.BackUpAndRestore(t)
	if _, err := r.Erase(t, erased); err != nil {
		t.Fatal(err)
	}
	older := r.node(t, restored, leadkit.Settings{}, 2, 1)
	if _, err := leadkit.Replay(t, older.Erasures, false); leadkit.Rejection(err) != "conflict legal_hold" {
		t.Errorf("without an answer: got %s", leadkit.Rejection(err))
	}
	if done, err := leadkit.Replay(t, older.Erasures, true); err != nil || done.Held != 1 {
		t.Errorf("replay: got %+v, %v", done, err)
	}
	if err := older.Erasures.CheckJournal(t.Context()); err != nil {
		t.Error(err)
	}
}

// countingJournal counts the checks of the journal. While it is slow, they wait until it is released.
type countingJournal struct {
	journal.Store
	checks atomic.Int64
	slow   atomic.Pointer[chan struct{}]
}

func (c *countingJournal) Last(ctx context.Context, after int64) (int64, error) {
	c.checks.Add(1)
	if release := c.slow.Load(); release != nil {
		<-*release
	}
	return c.Store.Last(ctx, after)
}

// delay makes the checks of the journal wait until release is called.
func (c *countingJournal) delay() (release func()) {
	wait := make(chan struct{})
	c.slow.Store(&wait)
	return func() { c.slow.Store(nil); close(wait) }
}

// If many pages are requested at once, the journal is checked only once. The check is repeated after a few seconds. If
// a check fails, data cannot be read until the next check.
func TestCheckReadable(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	j := &countingJournal{Store: r.Journal}
	s := r.Node(j)
	load := func(want string, checks int64) {
		t.Helper()
		before := j.checks.Load()
		var pages sync.WaitGroup
		for range 20 {
			page := s.By(r.User)
			pages.Go(func() {
				if err := page.Erasures.CheckReadable(t.Context()); leadkit.Rejection(err) != want {
					t.Errorf("got %s, want %s", leadkit.Rejection(err), want)
				}
			})
		}
		pages.Wait()
		if n := j.checks.Load() - before; n != checks {
			t.Errorf("got %d checks, want %d", n, checks)
		}
	}
	load("<nil>", 1)
	load("<nil>", 0)
	leadkit.Must(t, os.Rename(r.Folder, r.Folder+".gone"))
	load("<nil>", 0)
	r.Time.Advance(5 * time.Second)
	load("unavailable journal_unavailable", 1)
	leadkit.Must(t, os.Rename(r.Folder+".gone", r.Folder))
	load("unavailable journal_unavailable", 0)

	const unavailable = "unavailable journal_unavailable"
	release, before := j.delay(), j.checks.Load()
	r.Time.Advance(5 * time.Second)
	for range 3 { // while the failed check is repeated, pages get its error at once
		if err := s.Erasures.CheckReadable(t.Context()); leadkit.Rejection(err) != unavailable {
			t.Errorf("got %s, want %s", leadkit.Rejection(err), unavailable)
		}
	}
	release()
	testkit.Eventually(t, 10*time.Second, "data is readable again",
		func() bool { return s.Erasures.CheckReadable(t.Context()) == nil })
	if n := j.checks.Load() - before; n != 1 {
		t.Errorf("got %d checks, want 1", n)
	}

	release = j.delay()
	defer release()
	r.Time.Advance(5 * time.Second)
	gone, cancel := context.WithCancel(t.Context())
	cancel() // a client that is gone does not wait
	if err := s.Erasures.CheckReadable(gone); leadkit.Rejection(err) != unavailable {
		t.Errorf("got %s, want %s", leadkit.Rejection(err), unavailable)
	}
}
