package api

import (
	"net/http"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

func withoutKEK(n *node.Node) { n.Config.Keys.Local = nil }

// TestWithoutKeyWrapper runs a node that has no key wrapper. The node prices pings, and it checks posts
// completely before it rejects them. A node that has the key accepts the same post.
func TestWithoutKeyWrapper(t *testing.T) {
	t.Parallel()
	n := node.Start(t, withoutKEK)
	n.AwaitReadiness(t, "/readyz", "key_wrapper", "wrapping_key")
	n.AwaitReadiness(t, "/readyz/ping")
	body := n.FreshPost(t, n.Required)
	n.Stores(t, node.Nothing, func() { n.CheckUnavailable(t, n.Post(t, n.Required, body), spec.NoKeyWrapper) })
	play(t, n, []scenario{
		{
			name:   "an invalid signature is reported first",
			by:     required,
			body:   node.MinimalPost,
			change: []func(*node.Request){with(signatureHeader, node.Marker)},
			status: http.StatusUnauthorized,
			want:   rejection(spec.MalformedSignature),
		},
		{name: "an invalid transactionId is reported first", by: required, body: node.MinimalPing, status: http.StatusBadRequest, errors: 3},
		{
			name:   "an expired transaction is reported first",
			by:     required,
			body:   node.MinimalPost,
			wait:   16 * time.Minute,
			status: http.StatusBadRequest,
			want:   rejection(spec.TransactionExpired),
		},
	})
	n.Manual.Advance(-16 * time.Minute)

	withKey := n.StartPeer(t, func(n *node.Node) { n.Config.Keys.Local = []config.Secret{node.NewKey()} })
	var first node.Delivered
	n.Stores(t, node.OneLead, func() { first = node.Decode[node.Delivered](t, withKey.Post(t, n.Required, body)) })
	withKey.Lead(t, first.LeadID)

	// The node without the key cannot encrypt leads, but it can still find leads that were delivered.
	a := n.Post(t, n.Required, body)
	if again := node.Decode[node.Delivered](t, a); again.LeadID != first.LeadID || a.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("got %s, want lead %s", a.Body, first.LeadID)
	}
	withKey.Close(t)
	n.CheckNoPersonalData(t)
}
