package faults

import (
	"net/http"
	"testing"

	"github.com/pingpost/pingpost/test/node"
)

// TestClockBeyondLastPartition sets the clock to a time for which there are no partitions yet. Pings get
// prices, and posts get a 503. The next node to start creates the partitions, and the same post is then
// delivered once.
func TestClockBeyondLastPartition(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	n.Deliver(t, n.Required, node.MinimalPost)
	n.Manual.Set(node.StartTime.AddDate(0, 6, 0))
	q := n.Ping(t, n.Required.Base(), node.MinimalPing)
	if !q.Accepted {
		t.Fatalf("without partitions, a ping got %+v", q)
	}
	post := node.WithTransaction(node.MinimalPost, q.TransactionID)
	n.Stores(t, node.Stored{}, func() {
		if a := n.Post(t, n.Required, post); a.Status != http.StatusServiceUnavailable {
			t.Errorf("without partitions, a post got status %d, want 503", a.Status)
		}
	})
	peer := n.StartPeer(t)
	n.Stores(t, node.OneLead, func() {
		first := node.Decode[node.Delivered](t, n.Post(t, n.Required, post))
		again := node.Decode[node.Delivered](t, peer.Post(t, n.Required, post))
		if first.LeadID != again.LeadID {
			t.Errorf("got leads %s and %s, want the same", first.LeadID, again.LeadID)
		}
	})
}
