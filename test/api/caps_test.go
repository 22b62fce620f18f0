package api

import (
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/test/node"
)

// metricOf returns the value of a metric, or "" if it is missing.
func metricOf(t *testing.T, n *node.Node, name string) string {
	t.Helper()
	_, rest, _ := strings.Cut(n.Get(t, n.Ops+"/metrics"), "\n"+name+" ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// TestCapAcrossNodes sends posts to two nodes until the partner's cap is reached. After that, neither
// these two nodes nor a node that starts later quotes a price. An earlier quote is still honoured.
func TestCapAcrossNodes(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	nodes := []*node.Node{n, n.StartPeer(t)}
	p := n.NewPartner(t, "special", models.SigningRequired)
	nodes[1].AwaitPartner(t, p)
	quoted := func(n *node.Node) node.Quoted { return n.Ping(t, p.Base(), node.MinimalPing) }
	agreePrice(t, n, p, 0, partners.PriceForm{Adjustment: "+5", DailyLeadCap: "4"})
	testkit.Eventually(t, node.Patience, "both nodes know the agreed price",
		func() bool { return quoted(nodes[1]).BidPrice == quoted(n).BidPrice })
	var posts []string
	for i := range 5 {
		posts = append(posts, node.WithTransaction(node.MinimalPost, quoted(nodes[i%2]).TransactionID))
	}
	for i, post := range posts[:4] {
		node.Decode[node.Delivered](t, nodes[i%2].Post(t, p, post))
	}
	for _, each := range nodes {
		testkit.Eventually(t, time.Minute, "the cap is reached", func() bool { return quoted(each).Reason == "capped" })
	}
	if got := quoted(n.StartPeer(t)); got.Reason != "capped" {
		t.Errorf("node that starts after the cap was reached: got %+v", got)
	}
	node.Decode[node.Delivered](t, n.Post(t, p, posts[4]))
}

// TestStartWithoutLeadCounts starts a node while leads cannot be counted. Until the node has counted
// them, it applies no caps and reports this in a metric and a warning.
func TestStartWithoutLeadCounts(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	p := n.NewPartner(t, "special", models.SigningRequired)
	agreePrice(t, n, p, 0, partners.PriceForm{Adjustment: "+5", DailyLeadCap: "1"})
	n.Deliver(t, p, node.MinimalPost)
	quoted := func(n *node.Node) node.Quoted { return n.Ping(t, p.Base(), node.MinimalPing) }
	testkit.Eventually(t, node.Patience, "the cap is reached", func() bool { return quoted(n).Reason == "capped" })

	root := func(sql string) {
		t.Helper()
		if _, err := n.Root.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	root(`REVOKE SELECT ON ledger_entries FROM pingpost_app`)
	peer := n.StartPeer(t)
	if got := quoted(peer); !got.Accepted {
		t.Errorf("node without counts: got %+v", got)
	}
	n.Manual.Advance(10 * time.Second)
	if got := metricOf(t, peer, "pingpost_caps_age_seconds"); got != "10" {
		t.Errorf("got pingpost_caps_age_seconds %s, want 10", got)
	}
	testkit.Eventually(t, 2*node.Patience, "the node warns", func() bool { return n.Log.Count(`"level":"WARN"`) > 0 })
	root(`GRANT SELECT ON ledger_entries TO pingpost_app`)
	testkit.Eventually(t, 2*node.Patience, "the node has counted", func() bool { return quoted(peer).Reason == "capped" })
	testkit.Eventually(t, node.Patience, "the count is new",
		func() bool { return metricOf(t, peer, "pingpost_caps_age_seconds") == "0" })
}
