package faults

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// fillDisk makes Postgres reject all inserts into a table as it does when its disk is full.
func fillDisk(t *testing.T, n *node.Node, table string) {
	t.Helper()
	n.DB.Exec(t, `CREATE TRIGGER full_disk BEFORE INSERT ON `+table+` FOR EACH STATEMENT EXECUTE FUNCTION reject_full_disk()`)
}

func freeDisk(t *testing.T, n *node.Node, table string) {
	t.Helper()
	n.DB.Exec(t, `DROP TRIGGER full_disk ON `+table)
}

// TestReadinessRequiresStoring checks that a node is not ready for posts after it has failed to store
// three of them in a row. It must become ready again when the database can store data, even without further
// posts. If the next post fails too, the node must not be ready.
func TestReadinessRequiresStoring(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	n.DB.Exec(t, `CREATE FUNCTION reject_full_disk() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE 'no space left' USING ERRCODE = 'disk_full'; END $$`)
	fail := func() { n.CheckUnavailable(t, n.Post(t, n.Required, n.FreshPost(t, n.Required)), spec.NotSaved) }

	fillDisk(t, n, "leads")
	fillDisk(t, n, "write_checks")
	fail()
	fail()
	freeDisk(t, n, "leads")
	n.Deliver(t, n.Required, node.MinimalPost)
	fillDisk(t, n, "leads")
	fail()
	fail()
	n.AwaitReadiness(t, "/readyz") // a post was stored after the first two failures
	fail()
	n.AwaitReadiness(t, "/readyz", "storing")
	n.AwaitReadiness(t, "/readyz/ping")
	if state := n.Readiness(t, "/readyz").Checks["storing"]; !strings.Contains(state, "53100") {
		t.Errorf("the check does not contain the SQLSTATE: %s", state)
	}
	awaitMetric(t, n, `pingpost_ready{check="storing"}`, "0")
	freeDisk(t, n, "write_checks")
	n.AwaitReadiness(t, "/readyz")
	fillDisk(t, n, "write_checks")
	fail()
	n.AwaitReadiness(t, "/readyz", "storing")
	freeDisk(t, n, "leads")
	freeDisk(t, n, "write_checks")
	n.AwaitReadiness(t, "/readyz")
	n.Deliver(t, n.Required, node.MinimalPost)
}

// TestReadinessRequiresPartitions detaches the current partition of each table that posts write to. The node must
// report this and attach the partition again, so that a repeated post is still a replay.
func TestReadinessRequiresPartitions(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	delivered := n.FreshPost(t, n.Required)
	node.Decode[node.Delivered](t, n.Post(t, n.Required, delivered))
	for _, table := range []string{"leads", "lead_keys", "consents", "lead_events", "ledger_entries"} {
		t.Run(table, func(t *testing.T) {
			// create_partitions waits for this lock.
			execRoot(t, n, `SELECT pg_advisory_lock(hashtext('partitions'))`)
			execRoot(t, n, `ALTER TABLE `+table+` DETACH PARTITION `+table+`_20260101`)
			n.AwaitReadiness(t, "/readyz", "partitions")
			n.AwaitReadiness(t, "/readyz/ping")
			fresh := n.FreshPost(t, n.Required)
			n.CheckUnavailable(t, n.Post(t, n.Required, fresh), spec.NotSaved)
			execRoot(t, n, `SELECT pg_advisory_unlock(hashtext('partitions'))`)
			n.AwaitReadiness(t, "/readyz")
			if a := n.Post(t, n.Required, delivered); a.Status != http.StatusOK || a.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("repeated post: got %d %s, want a replay", a.Status, a.Body)
			}
			node.Decode[node.Delivered](t, n.Post(t, n.Required, fresh))
			testkit.Eventually(t, node.Patience, "the missing partition is logged", func() bool {
				return n.Log.Count(`"check":"partitions","why":"current partition missing in `+table) > 0
			})
		})
	}
}

// TestReadinessRequiresAttachedPartition detaches the current partition of leads concurrently while another
// transaction, such as a backup, reads it. Until that transaction ends, Postgres accepts no leads.
func TestReadinessRequiresAttachedPartition(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	delivered := n.FreshPost(t, n.Required)
	node.Decode[node.Delivered](t, n.Post(t, n.Required, delivered))
	backup, operator := testkit.Connect(t, n.DB.RootURL), testkit.Connect(t, n.DB.OwnerURL)
	if _, err := backup.Exec(t.Context(), `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM leads`); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// The command fails if the node completes it first.
		_, _ = operator.Exec(t.Context(), `ALTER TABLE leads DETACH PARTITION leads_20260101 CONCURRENTLY`)
	}()
	n.AwaitReadiness(t, "/readyz", "partitions")
	n.AwaitReadiness(t, "/readyz/ping")
	fresh := n.FreshPost(t, n.Required)
	n.CheckUnavailable(t, n.Post(t, n.Required, fresh), spec.NotSaved)
	if _, err := backup.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	<-ended
	n.AwaitReadiness(t, "/readyz")
	if a := n.Post(t, n.Required, delivered); a.Status != http.StatusOK || a.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("repeated post: got %d %s, want a replay", a.Status, a.Body)
	}
	node.Decode[node.Delivered](t, n.Post(t, n.Required, fresh))
}

// execRoot runs a statement on the test's own connection.
func execRoot(t *testing.T, n *node.Node, sql string) {
	t.Helper()
	if _, err := n.Root.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}
