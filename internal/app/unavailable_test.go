package app_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/testkit"
)

const (
	noKey    = "Lead intake encryption key (LEAD_VAULT_KEK) is not configured."
	notSaved = "Unable to save lead record."
)

// unavailable checks a 503 of the specification: it asks to come back, stores
// nothing and spends no transaction.
func (n *node) unavailable(t *testing.T, a answer, message string) {
	t.Helper()
	if want := `{"ok":false,"message":"` + message + `"}`; a.status != http.StatusServiceUnavailable || a.body != want || a.header.Get("Retry-After") != "2" {
		t.Errorf("answered %d, Retry-After %q, %s; want 503, 2, %s", a.status, a.header.Get("Retry-After"), a.body, want)
	}
}

// TestWithoutKeyWrapper runs a node that has no key to encrypt leads with:
// pings go on, posts are checked in full and then refused, and a node that has
// the key takes the very same post.
func TestWithoutKeyWrapper(t *testing.T) {
	t.Parallel()
	n := startNode(t, withoutKEK)
	n.isReady(t, "/readyz", but(postChecks, "key_wrapper", "not configured: posts are answered with 503"))
	n.isReady(t, "/readyz/ping", pingChecks)
	body := n.freshPost(t, n.required)
	n.stores(t, nothing, func() { n.unavailable(t, n.post(t, n.required, body), noKey) })
	n.play(t, []scenario{
		{name: "a wrong signature is told first", by: required, body: leastPost, change: []func(*request){with(signatureHeader, marker)},
			status: http.StatusUnauthorized, want: refusal(badSignature)},
		{name: "a wrong transactionId is told first", by: required, body: leastPing, status: http.StatusBadRequest, errors: 3},
		{name: "an expired transaction is told first", by: required, body: leastPost, wait: 16 * time.Minute, status: http.StatusBadRequest, want: refusal("Transaction has expired")},
	})
	n.hands.Advance(-16 * time.Minute)

	cfg := *n.cfg
	cfg.Keys.Local = newKey()
	with, err := app.Start(t.Context(), app.Options{Config: &cfg, Environment: "development", Clock: n.clock, Log: n.log})
	if err != nil {
		t.Fatal(err)
	}
	without := n.api
	n.api, n.cfg = "http://"+with.APIAddr(), &cfg
	var first delivered
	n.stores(t, oneLead, func() { first = decode[delivered](t, n.post(t, n.required, body)) })
	n.lead(t, first.LeadID)

	// The node without the key cannot seal, but it can tell what was delivered.
	n.api = without
	a := n.post(t, n.required, body)
	if again := decode[delivered](t, a); again.LeadID != first.LeadID || a.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("answered %s, want the lead %s", a.body, first.LeadID)
	}
	if err := with.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	n.leavesNoTrace(t)
}

// TestDatabaseAway cuts the database off a running node, and then only holds up
// what is sent: pings do not notice, posts are refused in bounded time and are
// taken as soon as the database is back.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		disturb func(*cable)
		within  time.Duration
	}{
		"cut":     {(*cable).sever, 5 * time.Second},
		"held up": {(*cable).hold, 14 * time.Second}, // before the client is cut off without an answer
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var way *cable
			n := startNode(t, throughCable(t, &way))
			used := n.freshPost(t, n.off)
			decode[delivered](t, n.post(t, n.off, used))
			bodies := make([]string, 10)
			for i := range bodies {
				bodies[i] = n.freshPost(t, n.required)
			}
			c.disturb(way)
			testkit.Eventually(t, 5*time.Second, "the node is not ready", func() bool { return !n.readiness(t, "/readyz").Ready })
			n.isReady(t, "/readyz", but(postChecks, "database", "does not answer", "commits", "not known", "schema", "not known", "clock", "not known", "lead_keys", "not known"))
			n.isReady(t, "/readyz/ping", pingChecks)
			n.get(t, n.ops+"/healthz")
			n.works(t)

			started := clock.System{}.Now()
			n.stores(t, nothing, func() {
				var all sync.WaitGroup
				for _, body := range bodies {
					all.Go(func() { n.unavailable(t, n.post(t, n.required, body), notSaved) })
				}
				all.Go(func() { n.unavailable(t, n.post(t, n.off, used), notSaved) }) // nobody can say that it was delivered
				all.Wait()
			})
			if took := (clock.System{}).Now().Sub(started); took > c.within {
				t.Errorf("the posts were answered after %s", took)
			}
			n.works(t)

			way.mend()
			testkit.Eventually(t, 5*time.Second, "the node is ready again", func() bool { return n.readiness(t, "/readyz").Ready })
			for _, body := range bodies {
				decode[delivered](t, n.post(t, n.required, body))
			}
			if a := n.post(t, n.off, used); a.header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("answered %d %s", a.status, a.body)
			}
			// What was held up may have come through after all, and the posts of
			// now are its replays: in any case each is one lead.
			if got := n.stored(t); got != (stored{11, 11, 11, 11}) {
				t.Errorf("stored %+v, want 11 of each", got)
			}
			n.leavesNoTrace(t)
		})
	}
}

// TestTablesLocked keeps the tables of leads locked: a post waits as long as a
// statement may and no longer, those beyond the places at the database are
// turned away, and afterwards each is taken.
func TestTablesLocked(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(n *node) {
		n.cfg.Database.StatementTimeout = time.Second
		n.cfg.Limits.PostConcurrency, n.cfg.Limits.PostWait = 2, 0
	})
	ctx := context.Background()
	bodies := make([]string, 6)
	for i := range bodies {
		bodies[i] = n.freshPost(t, n.required)
	}
	tx, err := n.root.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "LOCK TABLE leads IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, body := range bodies {
		all.Go(func() { n.unavailable(t, n.post(t, n.required, body), notSaved) })
	}
	all.Wait()
	n.isReady(t, "/readyz", postChecks)
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	n.stores(t, stored{6, 6, 6, 6}, func() {
		for _, body := range bodies {
			decode[delivered](t, n.post(t, n.required, body))
		}
	})
}
