package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// pingAt is a ping for a partner's price at one of several nodes.
func (n *node) pingAt(t *testing.T, api string, p partner) quoted {
	t.Helper()
	first := n.api
	defer func() { n.api = first }()
	n.api = api
	return n.ping(t, p.base(), leastPing)
}

func (n *node) metric(t *testing.T, ops, name string) string {
	t.Helper()
	_, rest, _ := strings.Cut(n.get(t, ops+"/metrics"), "\n"+name+" ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// TestCapOverNodes reaches a cap by posts to two nodes. Neither of them quotes
// a price after that, and a node that starts then does not either. A quote from before
// is honoured.
func TestCapOverNodes(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	apis := []string{n.api, "http://" + n.startBeside(t, n.clock).APIAddr()}
	p := n.newPartner(t, "special", models.SigningRequired)
	n.api = apis[1]
	n.knows(t, p)
	n.api = apis[0]
	n.agree(t, p, 0, partners.PriceForm{Adjustment: "+5", DailyLeadCap: "4"})
	testkit.Eventually(t, patience, "both nodes know the agreed price", func() bool { return n.pingAt(t, apis[1], p).BidPrice == n.pingAt(t, apis[0], p).BidPrice })
	var posts []string
	for i := range 5 {
		posts = append(posts, withTransaction(leastPost, n.pingAt(t, apis[i%2], p).TransactionID))
	}
	for i, post := range posts[:4] {
		n.api = apis[i%2]
		decode[delivered](t, n.post(t, p, post))
	}
	for _, api := range apis {
		testkit.Eventually(t, 3*time.Second, "the cap is reached", func() bool { return n.pingAt(t, api, p).Reason == "capped" })
	}
	if got := n.pingAt(t, "http://"+n.startBeside(t, n.clock).APIAddr(), p); got.Reason != "capped" {
		t.Errorf("a node that starts after the cap was reached answers %+v", got)
	}
	decode[delivered](t, n.post(t, p, posts[4]))
}

// TestStartWithoutLeadCounts starts a node while leads cannot be counted. It starts, it
// applies no caps, and says so in a metric and a warning until it has counted.
func TestStartWithoutLeadCounts(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p := n.newPartner(t, "special", models.SigningRequired)
	n.agree(t, p, 0, partners.PriceForm{Adjustment: "+5", DailyLeadCap: "1"})
	n.deliver(t, p, leastPost)
	testkit.Eventually(t, patience, "the cap is reached", func() bool { return n.pingAt(t, n.api, p).Reason == "capped" })

	tx, err := n.root.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE leads, ledger_entries IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	beside := n.startBeside(t, n.clock)
	api, ops := "http://"+beside.APIAddr(), "http://"+beside.OpsAddr()
	if got := n.pingAt(t, api, p); !got.Accepted {
		t.Errorf("a node that has not counted answers %+v", got)
	}
	n.hands.Advance(10 * time.Second)
	if got := n.metric(t, ops, "pingpost_caps_age_seconds"); got != "10" {
		t.Errorf("the count is %s s old, want 10", got)
	}
	testkit.Eventually(t, 2*patience, "the node warns", func() bool { return n.log.Count("daily caps are not counted") > 0 })
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 2*patience, "the node has counted", func() bool { return n.pingAt(t, api, p).Reason == "capped" })
	testkit.Eventually(t, patience, "the count is new", func() bool { return n.metric(t, ops, "pingpost_caps_age_seconds") == "0" })
}
