package faults

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// TestDatabaseAway cuts the database off a running node, and then only holds up
// what is sent: pings do not notice, posts are rejected in bounded time and are
// taken as soon as the database is back.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		disturb func(*node.FaultyProxy)
		within  time.Duration
	}{
		"cut":     {(*node.FaultyProxy).Cut, 5 * time.Second},
		"held up": {(*node.FaultyProxy).Hold, 14 * time.Second}, // before the client is cut off without an answer
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var proxy *node.FaultyProxy
			n := node.Start(t, node.ThroughFaultyProxy(t, &proxy))
			used := n.FreshPost(t, n.Off)
			node.Decode[node.Delivered](t, n.Post(t, n.Off, used))
			bodies := make([]string, 10)
			for i := range bodies {
				bodies[i] = n.FreshPost(t, n.Required)
			}
			c.disturb(proxy)
			testkit.Eventually(t, 5*time.Second, "the node is not ready", func() bool { return !n.Readiness(t, "/readyz").Ready })
			n.CheckReadiness(t, "/readyz", "database", "commits", "schema", "clock", "lead_keys")
			n.CheckReadiness(t, "/readyz/ping")
			n.Get(t, n.Ops+"/healthz")
			n.CheckServes(t)

			started := clock.System{}.Now()
			n.Stores(t, node.Nothing, func() {
				var all sync.WaitGroup
				for _, body := range bodies {
					all.Go(func() { n.CheckUnavailable(t, n.Post(t, n.Required, body), spec.NotSaved) })
				}
				all.Go(func() {
					n.CheckUnavailable(t, n.Post(t, n.Off, used), spec.NotSaved)
				}) // the node cannot know that it was delivered
				all.Wait()
			})
			if took := (clock.System{}).Now().Sub(started); took > c.within {
				t.Errorf("the posts were answered after %s", took)
			}
			n.CheckServes(t)

			proxy.Restore()
			testkit.Eventually(t, 5*time.Second, "the node is ready again",
				func() bool { return n.Readiness(t, "/readyz").Ready })
			for _, body := range bodies {
				node.Decode[node.Delivered](t, n.Post(t, n.Required, body))
			}
			if a := n.Post(t, n.Off, used); a.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("answered %d %s", a.Status, a.Body)
			}
			// What was held up may have come through after all, and the posts of
			// now are its replays: in any case each is one lead.
			if got := n.Stored(t); got != (node.StoredLeads(11)) {
				t.Errorf("stored %+v, want 11 of each", got)
			}
			n.CheckNoPersonalData(t)
		})
	}
}

// TestTablesLocked keeps the tables of leads locked: a post waits as long as a
// statement may and no longer, those beyond the places at the database are
// turned away, and afterwards each is taken.
func TestTablesLocked(t *testing.T) {
	t.Parallel()
	n := node.Start(t, func(n *node.Node) {
		n.Config.Database.StatementTimeout = time.Second
		n.Config.Limits.PostConcurrency, n.Config.Limits.PostWait = 2, 0
	})
	ctx := context.Background()
	bodies := make([]string, 6)
	for i := range bodies {
		bodies[i] = n.FreshPost(t, n.Required)
	}
	tx, err := n.Root.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "LOCK TABLE leads IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, body := range bodies {
		all.Go(func() { n.CheckUnavailable(t, n.Post(t, n.Required, body), spec.NotSaved) })
	}
	all.Wait()
	n.CheckReadiness(t, "/readyz")
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	n.Stores(t, node.StoredLeads(6), func() {
		for _, body := range bodies {
			node.Decode[node.Delivered](t, n.Post(t, n.Required, body))
		}
	})
}
