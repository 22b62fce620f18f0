package privacy_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/models"
)

// inJournal returns how often each lead is in the erasure journal.
func (r rig) inJournal(t *testing.T) map[string]int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(r.folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for _, file := range files {
		var e journal.Entry
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &e)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, lead := range e.Leads {
			all[lead]++
		}
	}
	return all
}

// checkErasedOnce fails the test unless exactly these leads are erased, each of them once.
func (r rig) checkErasedOnce(t *testing.T, want []uuid.UUID) {
	t.Helper()
	erased := testkit.Value[[]uuid.UUID](t, r.DB, `SELECT coalesce(array_agg(l.id ORDER BY l.id), '{}') FROM leads l
		WHERE state = 'erased' AND ciphertext IS NULL AND NOT EXISTS (SELECT FROM lead_keys k WHERE k.lead_id = l.id)`)
	entries := testkit.Value[[]uuid.UUID](t, r.DB, `SELECT coalesce(array_agg(lead_id ORDER BY lead_id), '{}') FROM erasures JOIN erasure_entries USING (sequence) WHERE erased_at IS NOT NULL`)
	slices.SortFunc(want, id.Compare)
	if !slices.Equal(erased, want) || !slices.Equal(entries, want) {
		t.Errorf("%d leads are erased, with %d entries in the database, want %d", len(erased), len(entries), len(want))
	}
	written := r.inJournal(t)
	for _, lead := range want {
		if n := written[id.Format(id.Lead, lead)]; n != 1 {
			t.Errorf("lead %s is in the journal %d times, want once", lead, n)
		}
	}
	if len(written) != len(want) {
		t.Errorf("got %d leads in the journal, want %d", len(written), len(want))
	}
	if _, err := r.VerifyErasures(t.Context()); err != nil {
		t.Errorf("verify: %v", err)
	}
}

// A retention run whose processes are killed at random moments erases each due lead exactly once.
func TestRetentionSurvivesKilledProcesses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	periods := retention(5, 5, byCountry{"DE": 40}, byCountry{"DE": 40})
	run(t, r.retaining(periods), nil)
	lead := r.deliverIn(t, "GB", "a@example.com")
	const n, kills = 15000, 7
	r.copies(t, lead, n)
	persons := r.deliverIn(t, "GB", "b@example.com")
	r.days(t, 20)
	recent := r.deliverIn(t, "GB", "c@example.com")
	place(t, r.Service, persons, true)
	held := []uuid.UUID{persons}
	due := testkit.Value[[]uuid.UUID](t, r.DB, `SELECT array_agg(id ORDER BY id) FROM leads WHERE country = 'GB' AND id NOT IN ($1, $2)`, persons, recent)
	for range 5 {
		i := rand.IntN(len(due))
		place(t, r.Service, due[i], false)
		held, due = append(held, due[i]), slices.Delete(due, i, i+1)
	}

	ended := func() bool {
		return testkit.Value[bool](t, r.DB, `SELECT ended_at IS NOT NULL FROM retention_runs ORDER BY started_at DESC LIMIT 1`)
	}
	entries := func() int {
		files, err := filepath.Glob(filepath.Join(r.folder, "*.json")) // without those of killed writers
		must(t, err)
		return len(files)
	}
	for range kills {
		before := entries()
		p := r.begin(t, task{Retention: periods, StopAfter: int64(before) + 2}) // it cannot finish the 15 entries
		testkit.Eventually(t, time.Minute, "the process writes to the journal", func() bool { return entries() > before })
		select { // it pauses for 400 ms after each entry
		case <-time.After(rand.N(600 * time.Millisecond)):
		case <-t.Context().Done():
		}
		p.kill(t)
		if ended() {
			t.Fatal("the run ended before the process was killed")
		}
		if _, err := r.retaining(periods).RunRetention(t.Context()); rejection(err) != "conflict retention_running" {
			t.Fatalf("before the heartbeat is stale: got %v", err)
		}
		r.Time.Advance(time.Minute)
	}
	r.begin(t, task{Retention: periods}).succeed(t)

	r.checkErasedOnce(t, due)
	for _, lead := range append(held, recent) {
		if got := r.stored(t, lead); got != "contact consent" {
			t.Errorf("lead %s: got %q, want contact and consent", lead, got)
		}
	}
	if runs, counted := testkit.Value[int](t, r.DB, `SELECT count(*) FROM retention_runs WHERE erased <> '{}'`), testkit.Value[int](t, r.DB,
		`SELECT (erased->'contact'->>'GB')::int FROM retention_runs WHERE erased <> '{}'`); runs != 1 || counted != len(due) {
		t.Errorf("got %d runs, the first one with %d leads, want one with %d", runs, counted, len(due))
	}
	if event := testkit.Value[int](t, r.DB, `SELECT sum((after->'contact'->>'GB')::int) FROM audit_events WHERE action = 'retention.run'`); event != len(due) {
		t.Errorf("the audit log contains %d leads, want %d", event, len(due))
	}
	if deferred := testkit.Value[int](t, r.DB, `SELECT count(*) FROM retention_deferred WHERE category = 'contact'`); deferred != len(held) {
		t.Errorf("got %d deferred leads, want %d", deferred, len(held))
	}
}

// An erasure whose process is killed at a step is finished by another process, or has not begun.
func TestErasureSurvivesKilledProcess(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stopBefore, stopAfter int64
		lock                  string // the table whose lock stops the process
		pending               bool   // whether the erasure has begun
	}{
		"before the pending entry is committed": {lock: "audit_events"},
		"before the journal is written":         {stopBefore: 1, pending: true},
		"after the journal was written":         {stopAfter: 1, pending: true},
		"before the erasure is committed":       {lock: "files", pending: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			lead, other := r.deliver(t, contact), r.deliver(t, contact)
			lock, err := testkit.Connect(t, r.DB.RootURL).Begin(t.Context())
			if err == nil && tt.lock != "" {
				_, err = lock.Exec(t.Context(), `LOCK TABLE `+tt.lock+` IN ACCESS EXCLUSIVE MODE`)
			}
			if err != nil {
				t.Fatal(err)
			}
			p := r.begin(t, task{Lead: lead, StopBefore: tt.stopBefore, StopAfter: tt.stopAfter})
			if tt.lock != "" {
				r.DB.AwaitLockOn(t, tt.lock)
			} else {
				p.awaitStop(t)
			}
			p.kill(t)
			must(t, lock.Rollback(t.Context()))
			must(t, os.WriteFile(filepath.Join(r.folder, "000000000001.json.KILLED.tmp"), []byte(`{"platf`), 0o600)) // from a process killed while it wrote

			if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM lead_keys`); n != 2 {
				t.Errorf("got %d keys, want 2: nothing may be erased yet", n)
			}
			if _, pending, err := r.ReceiptOf(t.Context(), lead); err != nil || pending != tt.pending {
				t.Errorf("pending: got %t, %v, want %t", pending, err, tt.pending)
			}
			if _, err := r.reveal(t, lead); (rejection(err) == "conflict erased") != tt.pending {
				t.Errorf("reveal: got %v", err)
			}
			if tt.pending {
				err = r.FinishErasures(t.Context())
			} else {
				_, err = r.erase(t, lead)
			}
			must(t, err)
			r.checkErasedOnce(t, []uuid.UUID{lead})
			if _, err := r.reveal(t, other); err != nil {
				t.Errorf("the other lead: %v", err)
			}
			if n := r.auditEvents(t, "lead.erase", "done"); n != 1 {
				t.Errorf("got %d audit events, want 1", n)
			}
		})
	}
}

// An erasure for a request has several entries. If its process is killed between them, another process
// finishes it.
func TestErasureRequestSurvivesKilledProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.copyLead(t, r.deliver(t, contact), 2500)
	request := r.request(t, models.RequestErasure)
	all := testkit.Value[[]uuid.UUID](t, r.DB, `SELECT array_agg(id) FROM leads`)
	p := r.begin(t, task{Request: request, StopAfter: 2})
	p.awaitStop(t)
	p.kill(t)
	if _, found := r.state(t, request); found.Erased != 1000 || found.Pending != len(all)-1000 {
		t.Errorf("got %d erased and %d pending leads, want 1000 and the rest", found.Erased, found.Pending)
	}
	must(t, r.FinishErasures(t.Context()))
	if outcome, found := r.state(t, request); outcome != string(models.OutcomeErased) || found.Erased != len(all) {
		t.Errorf("got %s with %d erased leads, want erased with %d", outcome, found.Erased, len(all))
	}
	r.checkErasedOnce(t, all)
}
