package faults

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/test/node"
)

// kept states which data still exists. The data is from a single time, at which a live lead and a
// sandbox lead were delivered.
type kept struct{ pings, traffic, lead, digest, sandbox bool }

func checkKept(t *testing.T, n *node.Node, at time.Time) (k kept) {
	t.Helper()
	err := n.Root.QueryRow(context.Background(), `SELECT
		EXISTS (SELECT FROM pings WHERE issued_at = $1),
		EXISTS (SELECT FROM traffic_minutes WHERE minute = date_trunc('minute', $1::timestamptz)),
		EXISTS (SELECT FROM leads l JOIN consents c ON c.lead_id = l.id JOIN ledger_entries e ON e.lead_id = l.id WHERE l.received_at = $1 AND NOT l.sandbox),
		EXISTS (SELECT FROM leads JOIN lead_keys ON lead_id = id WHERE received_at = $1 AND NOT sandbox AND body_digest IS NOT NULL),
		EXISTS (SELECT FROM leads WHERE received_at = $1 AND sandbox)
			OR EXISTS (SELECT FROM consents WHERE received_at = $1 AND sandbox)`, at,
	).Scan(&k.pings, &k.traffic, &k.lead, &k.digest, &k.sandbox)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestRetentionDeletesExpiredData starts a node whose database contains data of different ages. The node
// must delete body digests after 24 hours (decision 3), sandbox leads after 7 days (decision 25), and
// pings and traffic after the configured time. It must not delete anything else.
func TestRetentionDeletesExpiredData(t *testing.T) {
	t.Parallel()
	n := node.Start(t, func(n *node.Node) { n.Config.Retention.PingsDays, n.Config.Retention.TrafficDays = 7, 7 })
	trial := n.NewPartner(t, "trying", models.SigningRequired, partners.NewAccount{
		Identifier: "trying-sandbox",
		Sandbox:    true,
	})
	testkit.Eventually(t, node.Patience, "the node knows the new partner",
		func() bool { return n.Post(t, trial, "{}").Status == http.StatusBadRequest })
	const day = 24 * time.Hour
	now := node.StartTime.Add(8*day + time.Hour)
	rows := []struct {
		age  time.Duration
		want kept
	}{
		{8*day + time.Hour, kept{lead: true}},
		{7*day + time.Hour, kept{lead: true, pings: true}}, // pings are deleted one whole day at a time
		{7*day - time.Hour, kept{lead: true, pings: true, traffic: true, sandbox: true}},
		{day + time.Hour, kept{lead: true, pings: true, traffic: true, sandbox: true}},
		{day - time.Hour, kept{lead: true, pings: true, traffic: true, sandbox: true, digest: true}},
	}
	for _, r := range rows {
		n.Manual.Set(now.Add(-r.age))
		n.Deliver(t, n.Required, node.MinimalPost)
		n.Deliver(t, trial, node.MinimalPost)
	}
	n.Shutdown(t)
	for _, r := range rows {
		if got := checkKept(t, n, now.Add(-r.age)); got != (kept{true, true, true, true, true}) {
			t.Fatalf("before retention, data from %s ago: got %+v, want all", r.age, got)
		}
	}

	n.Manual.Set(now)
	next := n.StartPeer(t)
	var wrong map[time.Duration]kept // by the data's age
	matches := func() bool {
		wrong = map[time.Duration]kept{}
		for _, r := range rows {
			if got := checkKept(t, n, now.Add(-r.age)); got != r.want {
				wrong[r.age] = got
			}
		}
		return len(wrong) == 0
	}
	defer func() {
		for age, got := range wrong {
			t.Logf("data from %s ago: got %+v", age, got)
		}
	}()
	testkit.Eventually(t, node.Patience, "exactly the expired data is deleted", matches)
	next.Close(t)
	if !matches() {
		t.Error("data that had not expired was deleted")
	}
}
