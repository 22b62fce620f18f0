package faults

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// longestAnswer is the maximum response time of the partner API (decision 27).
const longestAnswer = 5 * time.Second

// TestPostsWithFrozenDatabase freezes the database at each stage of a post. Both the posts that are waiting
// for a slot and the posts that are waiting for the database must be answered before the database works
// again.
func TestPostsWithFrozenDatabase(t *testing.T) {
	t.Parallel()
	if leads.DeliverTimeout >= longestAnswer {
		t.Errorf("a post may wait %s, want less than %s", leads.DeliverTimeout, longestAnswer)
	}
	for name, freeze := range map[string]func(proxy *node.FaultyProxy, transaction string){
		"before the statement": func(proxy *node.FaultyProxy, _ string) { proxy.Hold() },
		"before the answer":    func(proxy *node.FaultyProxy, transaction string) { proxy.AfterSending(transaction, proxy.Hold) },
		"before the read-back": func(proxy *node.FaultyProxy, transaction string) {
			proxy.AfterSending(transaction, proxy.CutAndHold)
		},
		"cut before the answer": func(proxy *node.FaultyProxy, transaction string) { proxy.AfterSending(transaction, proxy.Cut) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var proxy *node.FaultyProxy
			n := node.Start(t, node.ThroughFaultyProxy(t, &proxy), func(n *node.Node) { n.Config.Limits.PostConcurrency = 4 })
			bodies := make([]string, 12) // 4 of them wait for the database, and the others wait for a slot
			for i := range bodies {
				bodies[i] = n.FreshPost(t, n.Required)
			}
			node.Decode[node.Delivered](t, n.Post(t, n.Required, n.FreshPost(t, n.Required))) // opens a connection

			var first struct{ TransactionID string }
			if err := json.Unmarshal([]byte(bodies[0]), &first); err != nil {
				t.Fatal(err)
			}
			freeze(proxy, first.TransactionID)
			var all sync.WaitGroup
			send := func(body string) {
				all.Go(func() {
					a := n.Post(t, n.Required, body)
					if a.Status != http.StatusOK {
						n.CheckUnavailable(t, a, spec.NotSaved)
					}
				})
			}
			for _, body := range bodies {
				send(body)
			}
			all.Wait()

			proxy.Restore()
			testkit.Eventually(t, time.Minute, "the node is ready again",
				func() bool { return n.Readiness(t, "/readyz").Ready })
			for _, body := range bodies {
				node.Decode[node.Delivered](t, n.Post(t, n.Required, body))
			}
			if want := len(bodies) + 1; n.Stored(t) != (node.StoredLeads(want)) {
				t.Errorf("got %+v stored, want %d of each", n.Stored(t), want)
			}
		})
	}
}
