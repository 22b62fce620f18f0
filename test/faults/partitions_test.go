package faults

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// TestClockBeyondLastPartition sets the clock to a time for which there are no partitions yet. Pings get
// prices. The node must create the partitions, and the same post is then delivered once.
func TestClockBeyondLastPartition(t *testing.T) {
	t.Parallel()
	n := node.Start(t, func(n *node.Node) { n.Config.Retention.PingsDays = 365 }) // the node counts recorded pings at the end
	n.Deliver(t, n.Required, node.MinimalPost)
	execRoot(t, n, `SELECT pg_advisory_lock(hashtext('partitions'))`) // create_partitions waits for this lock
	n.Manual.Set(node.StartTime.AddDate(0, 6, 0))
	q := n.Ping(t, n.Required.Base(), node.MinimalPing)
	if !q.Accepted {
		t.Fatalf("without partitions, a ping got %+v", q)
	}
	post := node.WithTransaction(node.MinimalPost, q.TransactionID)
	n.Stores(t, node.Stored{}, func() { n.CheckUnavailable(t, n.Post(t, n.Required, post), spec.NotSaved) })
	testkit.Eventually(t, node.Patience, "the node is not ready", func() bool {
		return strings.Contains(n.Readiness(t, "/readyz").Checks["partitions"], "leads")
	})
	execRoot(t, n, `SELECT pg_advisory_unlock(hashtext('partitions'))`)
	testkit.Eventually(t, node.Patience, "the partitions exist", func() bool {
		return n.Readiness(t, "/readyz").Checks["partitions"] == "ok"
	})
	n.Stores(t, node.OneLead, func() {
		first := node.Decode[node.Delivered](t, n.Post(t, n.Required, post))
		again := node.Decode[node.Delivered](t, n.Post(t, n.Required, post))
		if first.LeadID != again.LeadID {
			t.Errorf("got leads %s and %s, want the same", first.LeadID, again.LeadID)
		}
	})
}

// TestPartitionChangesFailNoPost adds partitions, and detaches and drops them as an operator who
// archives old ones does, while posts are delivered. Every post must be delivered.
func TestPartitionChangesFailNoPost(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	var posts sync.WaitGroup
	var delivered atomic.Int64
	stop := make(chan struct{})
	for range 8 {
		posts.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				q := n.Ping(t, n.Required.Base(), node.MinimalPing)
				if a := n.Post(t, n.Required, node.WithTransaction(node.MinimalPost, q.TransactionID)); a.Status != http.StatusOK {
					t.Errorf("got status %d, want 200", a.Status)
				}
				delivered.Add(1)
			}
		})
	}
	for range 5 {
		before := delivered.Load()
		testkit.Eventually(t, node.Patience, "posts are delivered", func() bool { return delivered.Load() > before+20 })
		n.DB.Exec(t, `SELECT create_partitions(array_agg(DISTINCT parent), 'month', '2100-01-01', '2100-01-01') FROM partitions WHERE parent <> 'pings'`)
		for _, table := range []string{"leads", "lead_keys", "consents", "lead_events", "ledger_entries", "payout_run_entries"} {
			n.DB.Exec(t, `ALTER TABLE `+table+` DETACH PARTITION `+table+`_21000101 CONCURRENTLY`)
			n.DB.Exec(t, `DROP TABLE `+table+`_21000101`)
		}
	}
	close(stop)
	posts.Wait()
}
