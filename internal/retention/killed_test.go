//go:build !short

package retention_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// A retention run whose processes are killed at random moments erases each due lead exactly once.
func TestRetentionSurvivesKilledProcesses(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	periods := leadkit.Periods(5, 5, leadkit.ByCountry{"DE": 40}, leadkit.ByCountry{"DE": 40})
	leadkit.RunRetention(t, r.Retaining(periods).Retention, nil)
	lead := r.DeliverIn(t, "GB", "a@example.com")
	const n, kills = 15000, 7
	r.AddCopies(t, lead, n)
	persons := r.DeliverIn(t, "GB", "b@example.com")
	r.PassDays(t, 20)
	recent := r.DeliverIn(t, "GB", "c@example.com")
	leadkit.PlaceHold(t, r.Erasures, persons, true)
	held := []uuid.UUID{persons}
	due := testkit.Value[[]uuid.UUID](t, r.DB,
		`SELECT array_agg(id ORDER BY id) FROM leads WHERE country = 'GB' AND id NOT IN ($1, $2)`, persons, recent)
	for range 5 {
		i := rand.IntN(len(due))
		leadkit.PlaceHold(t, r.Erasures, due[i], false)
		held, due = append(held, due[i]), slices.Delete(due, i, i+1)
	}

	ended := func() bool {
		return testkit.Value[bool](t, r.DB,
			`SELECT ended_at IS NOT NULL FROM retention_runs ORDER BY started_at DESC LIMIT 1`)
	}
	entries := func() int {
		files, err := filepath.Glob(filepath.Join(r.Folder, "*.json")) // without those of killed writers
		leadkit.Must(t, err)
		return len(files)
	}
	for range kills {
		before := entries()
		p := r.Begin(t, leadkit.Task{Retention: periods, StopAfter: int64(before) + 2}) // it cannot finish the 15 entries
		testkit.Eventually(t, time.Minute, "the process writes to the journal", func() bool { return entries() > before })
		select { // it pauses for 400 ms after each entry
		case <-time.After(rand.N(600 * time.Millisecond)):
		case <-t.Context().Done():
		}
		p.Kill(t)
		if ended() {
			t.Fatal("the run ended before the process was killed")
		}
		if _, err := r.Retaining(periods).Retention.Run(t.Context()); leadkit.Rejection(err) != "conflict job_running" {
			t.Fatalf("before the heartbeat is stale: got %v", err)
		}
		r.Time.Advance(20 * time.Second)
	}
	r.Begin(t, leadkit.Task{Retention: periods}).Succeed(t)

	r.CheckErasedOnce(t, due)
	for _, lead := range append(held, recent) {
		if got := r.Stored(t, lead); got != "contact consent" {
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

// A node continues the run of a command that was killed.
func TestNodeContinuesKilledRun(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	periods := leadkit.Periods(5, 5, nil, nil)
	leadkit.RunRetention(t, r.Retaining(periods).Retention, nil)
	r.AddCopies(t, r.DeliverIn(t, "GB", "a@example.com"), 2000)
	r.PassDays(t, 20)
	p := r.Begin(t, leadkit.Task{Retention: periods, StopAfter: 1})
	p.AwaitStop(t)
	p.Kill(t)
	queue := testkit.NewQueue(r.DB.DB, r.Time)
	r.RetainingBy(queue, periods)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); queue.Run(ctx) }()
	r.Time.Advance(21 * time.Second)
	testkit.Eventually(t, time.Minute, "the run ends", func() bool {
		return testkit.Value[bool](t, r.DB, `SELECT bool_and(ended_at IS NOT NULL) FROM retention_runs`)
	})
	cancel()
	<-ended
	if left := testkit.Value[int](t, r.DB, `SELECT count(*) FROM lead_keys`); left != 0 {
		t.Errorf("got %d leads that are not erased", left)
	}
	if attempts := testkit.Value[int](t, r.DB, `SELECT attempt FROM jobs ORDER BY id DESC LIMIT 1`); attempts != 2 {
		t.Errorf("got %d attempts, want 2", attempts)
	}
}
