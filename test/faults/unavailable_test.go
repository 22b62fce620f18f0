package faults

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// TestDatabaseUnavailable disconnects a running node from its database or stops forwarding data between
// them. Pings must not be affected. Posts must be rejected while the database is still unavailable, and
// they must be accepted again when it is available.
func TestDatabaseUnavailable(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(*node.FaultyProxy){
		"cut":   (*node.FaultyProxy).Cut,
		"stuck": (*node.FaultyProxy).Hold,
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
			disturb(proxy)
			testkit.Eventually(t, time.Minute, "the node is not ready", func() bool { return !n.Readiness(t, "/readyz").Ready })
			n.AwaitReadiness(t, "/readyz", "database", "commits", "schema", "clock", "wrapping_key", "partitions")
			n.AwaitReadiness(t, "/readyz/ping")
			n.Get(t, n.Ops+"/healthz")
			n.CheckServes(t)

			n.Stores(t, node.Nothing, func() {
				var all sync.WaitGroup
				for _, body := range bodies {
					all.Go(func() { n.CheckUnavailable(t, n.Post(t, n.Required, body), spec.NotSaved) })
				}
				all.Go(func() {
					n.CheckUnavailable(t, n.Post(t, n.Off, used), spec.NotSaved)
				}) // the node cannot know that this lead was delivered
				all.Wait()
			})
			n.CheckServes(t)

			proxy.Restore()
			testkit.Eventually(t, time.Minute, "the node is ready again",
				func() bool { return n.Readiness(t, "/readyz").Ready })
			for _, body := range bodies {
				node.Decode[node.Delivered](t, n.Post(t, n.Required, body))
			}
			if a := n.Post(t, n.Off, used); a.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("got %d %s, want a replay", a.Status, a.Body)
			}
			// A post that was stuck may have been stored in the meantime. If so, its retry was a
			// replay. Either way, there must be one lead for each post.
			if got := n.Stored(t); got != (node.StoredLeads(11)) {
				t.Errorf("got %+v stored, want 11 of each", got)
			}
			n.CheckNoPersonalData(t)
		})
	}
}

// TestLockedTable locks the table leads. Posts that have a slot must wait until the statement timeout,
// and posts that get no slot must be rejected immediately. When the table is unlocked, all posts must be
// accepted.
func TestLockedTable(t *testing.T) {
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
	n.AwaitReadiness(t, "/readyz")
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	n.Stores(t, node.StoredLeads(6), func() {
		for _, body := range bodies {
			node.Decode[node.Delivered](t, n.Post(t, n.Required, body))
		}
	})
}
