package faults

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// longestAnswer is what no answer of the partner API may exceed (decision 27).
const longestAnswer = 5 * time.Second

// TestPostsToAFrozenDatabase freezes the database at each moment of a post. Posts
// that wait for their turn are answered as early as those that the database holds.
func TestPostsToAFrozenDatabase(t *testing.T) {
	t.Parallel()
	for name, freeze := range map[string]func(proxy *node.FaultyProxy, transaction string){
		"before the statement": func(proxy *node.FaultyProxy, _ string) { proxy.Hold() },
		"before the answer":    func(proxy *node.FaultyProxy, transaction string) { proxy.AfterSending(transaction, proxy.Hold) },
		"before the read-back": func(proxy *node.FaultyProxy, transaction string) {
			proxy.AfterSending(transaction, proxy.CutAndHold)
		},
		"and then cut": func(proxy *node.FaultyProxy, transaction string) { proxy.AfterSending(transaction, proxy.Cut) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var proxy *node.FaultyProxy
			n := node.Start(t, node.ThroughFaultyProxy(t, &proxy), func(n *node.Node) { n.Config.Limits.PostConcurrency = 4 })
			bodies := make([]string, 12) // 4 at the database, the others at the gate
			for i := range bodies {
				bodies[i] = n.FreshPost(t, n.Required)
			}
			node.Decode[node.Delivered](t, n.Post(t, n.Required, n.FreshPost(t, n.Required))) // a connection is open

			var first struct{ TransactionID string }
			if err := json.Unmarshal([]byte(bodies[0]), &first); err != nil {
				t.Fatal(err)
			}
			freeze(proxy, first.TransactionID)
			var all sync.WaitGroup
			send := func(body string) {
				all.Go(func() {
					started := clock.System{}.Now()
					a := n.Post(t, n.Required, body)
					if took := (clock.System{}).Now().Sub(started); took >= longestAnswer {
						t.Errorf("answered %d after %s", a.Status, took)
					}
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
			testkit.Eventually(t, 10*time.Second, "the node is ready again",
				func() bool { return n.Readiness(t, "/readyz").Ready })
			for _, body := range bodies {
				node.Decode[node.Delivered](t, n.Post(t, n.Required, body))
			}
			if want := len(bodies) + 1; n.Stored(t) != (node.StoredLeads(want)) {
				t.Errorf("stored %+v, want %d of each", n.Stored(t), want)
			}
		})
	}
}
