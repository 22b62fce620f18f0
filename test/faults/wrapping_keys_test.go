package faults

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// withLocalKeys makes a node use other local keys, and log to a log of its own.
func withLocalKeys(keys ...config.Secret) node.Option {
	return func(n *node.Node) { n.Config.Keys.Local, n.Log = keys, &testkit.Log{} }
}

// wrappingKey returns the key that wraps the node's new data keys.
func wrappingKey(t *testing.T, n *node.Node) envelope.WrappingKey {
	t.Helper()
	local, err := envelope.NewLocal(n.Config.Keys.LocalKEKs()...)
	if err != nil {
		t.Fatal(err)
	}
	return envelope.NewWrappers(local).Keys()[0]
}

func registeredKeys(t *testing.T, n *node.Node) []string {
	t.Helper()
	return testkit.Value[[]string](t, n.DB, `SELECT coalesce(array_agg(wrapper || ' ' || key), '{}') FROM wrapping_keys`)
}

// A node with a wrong local key stores nothing and reports its key. The nodes with the right key stay ready.
// When the key is introduced, the node becomes ready without a restart.
func TestNodeWithWrongKeyStoresNothing(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	peer := n.StartPeer(t)
	stranger := n.StartPeer(t, withLocalKeys(node.NewKey()))
	key := wrappingKey(t, stranger)
	if got := registeredKeys(t, n); len(got) != 1 || got[0] != wrappingKey(t, n).String() {
		t.Fatalf("got registered keys %v, want the one of the first node", got)
	}
	delivered := n.FreshPost(t, n.Required)
	first := node.Decode[node.Delivered](t, n.Post(t, n.Required, delivered))

	healthy := func() {
		t.Helper()
		for _, member := range []*node.Node{n, peer} {
			member.AwaitReadiness(t, "/readyz")
		}
	}
	for range 10 {
		body := n.FreshPost(t, n.Required)
		n.Stores(t, node.Nothing, func() { n.CheckUnavailable(t, stranger.Post(t, n.Required, body), spec.NotSaved) })
		n.Stores(t, node.OneLead, func() { node.Decode[node.Delivered](t, peer.Post(t, n.Required, body)) })
		again := stranger.Post(t, n.Required, delivered)
		if node.Decode[node.Delivered](t, again).LeadID != first.LeadID || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("retry: got %d %s, want lead %s", again.Status, again.Body, first.LeadID)
		}
		healthy()
	}
	stranger.AwaitReadiness(t, "/readyz", "wrapping_key")
	stranger.AwaitReadiness(t, "/readyz/ping")
	state := stranger.Readiness(t, "/readyz").Checks["wrapping_key"]
	for _, part := range []string{key.String(), "pingpost keys introduce"} {
		if !strings.Contains(state, part) {
			t.Errorf("%q is not in the check: %s", part, state)
		}
	}
	testkit.Eventually(t, node.Patience, "the failing check and the failed posts are logged", func() bool {
		log := stranger.Log.String()
		return strings.Count(log, key.String()) > 10 && strings.Contains(log, `"check":"wrapping_key"`)
	})

	// The leads that the node stores from now on do not affect the other nodes either.
	if _, err := n.DB.DB.Pool.Exec(t.Context(), `INSERT INTO wrapping_keys (wrapper, key) VALUES ($1, $2)`, key.Wrapper, key.Key); err != nil {
		t.Fatal(err)
	}
	stranger.AwaitReadiness(t, "/readyz")
	body := n.FreshPost(t, n.Required)
	n.Stores(t, node.OneLead, func() { node.Decode[node.Delivered](t, stranger.Post(t, n.Required, body)) })
	testkit.Eventually(t, node.Patience, "the other nodes warn about the key", func() bool {
		return strings.Contains(n.Readiness(t, "/readyz").Warnings["lead_keys"], key.String()) &&
			strings.Contains(peer.Readiness(t, "/readyz").Warnings["lead_keys"], key.String())
	})
	healthy()
}

// Two nodes with different keys start on an empty platform. One of them registers its key, and the other
// stores nothing.
func TestOnlyOneFirstNodeRegistersItsKey(t *testing.T) {
	t.Parallel()
	n := node.Start(t, func(n *node.Node) { n.Config.Keys.Local = nil }) // creates the partners, but registers no key
	if got := registeredKeys(t, n); len(got) != 0 {
		t.Fatalf("a node without keys registered %v", got)
	}
	var nodes [2]*node.Node
	var starting sync.WaitGroup
	for i := range nodes {
		starting.Go(func() {
			var err error
			if nodes[i], err = n.TryStartPeer(t, withLocalKeys(node.NewKey())); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	testkit.Eventually(t, node.Patience, "a key is registered", func() bool { return len(registeredKeys(t, n)) > 0 })
	first, other := nodes[0], nodes[1]
	if registeredKeys(t, n)[0] != wrappingKey(t, first).String() {
		first, other = other, first
	}
	if got := registeredKeys(t, n); len(got) != 1 || got[0] != wrappingKey(t, first).String() {
		t.Fatalf("got registered keys %v, want only %s", got, wrappingKey(t, first))
	}
	first.AwaitReadiness(t, "/readyz")
	other.AwaitReadiness(t, "/readyz", "wrapping_key")
	body := n.FreshPost(t, n.Required)
	n.Stores(t, node.Nothing, func() { n.CheckUnavailable(t, other.Post(t, n.Required, body), spec.NotSaved) })
	n.Stores(t, node.OneLead, func() {
		if a := first.Post(t, n.Required, body); a.Status != http.StatusOK {
			t.Errorf("got %d %s, want 200", a.Status, a.Body)
		}
	})
}

// A platform with leads from before keys were registered has no registered keys. A node that cannot
// decrypt the leads registers nothing, even if it starts first.
func TestUpgradedPlatformRegistersKeyThatReadsItsLeads(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	n.Deliver(t, n.Required, node.MinimalPost)
	n.Close(t)
	if _, err := n.Root.Exec(t.Context(), `DELETE FROM wrapping_keys`); err != nil {
		t.Fatal(err)
	}
	stranger := n.StartPeer(t, withLocalKeys(node.NewKey()))
	stranger.AwaitReadiness(t, "/readyz", "wrapping_key")
	body := stranger.FreshPost(t, n.Required)
	stranger.CheckUnavailable(t, stranger.Post(t, n.Required, body), spec.NotSaved)
	if got := registeredKeys(t, n); len(got) != 0 {
		t.Errorf("the first node registered %v, but cannot decrypt the leads", got)
	}
	n.StartAgain(t)
	n.AwaitReadiness(t, "/readyz")
	if got := registeredKeys(t, n); len(got) != 1 || got[0] != wrappingKey(t, n).String() {
		t.Errorf("got registered keys %v, want %s", got, wrappingKey(t, n))
	}
	node.Decode[node.Delivered](t, n.Post(t, n.Required, body))
	stranger.AwaitReadiness(t, "/readyz", "wrapping_key")
}
