package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// TestAgreementHonoursQuotesInFlight requests quotes on the shared base URL from two nodes whose clocks
// differ, and then sets a price, an exclusion or a cap for a partner. The partner can use those quotes
// until they expire. It cannot use quotes that the shared base URL issues later (decision 5).
func TestAgreementHonoursQuotesInFlight(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	ahead := clock.NewManual(node.StartTime)
	other := n.StartPeer(t, func(n *node.Node) { n.Clock = ahead })
	for name, terms := range map[string]partners.PriceForm{
		"price":     {Adjustment: "-40"},
		"exclusion": {Exclusions: "country GB"},
		"cap":       {DailyLeadCap: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := n.NewPartner(t, "terms-"+name, models.SigningRequired)
			n.Deliver(t, p, node.MinimalPost) // reaches a cap of 1
			ahead.Set(n.Manual.Now().Add(quote.MaxAhead))
			shared := func() node.Quoted { return n.Ping(t, "", node.MinimalPing) }
			before, expiring := shared(), shared()
			onOtherNode := other.Ping(t, "", node.MinimalPing)

			agreePrice(t, n, p, 0, terms)
			for _, q := range []node.Quoted{before, onOtherNode} {
				accepted := node.Decode[node.Delivered](t, n.Post(t, p, node.WithTransaction(node.MinimalPost, q.TransactionID)))
				if accepted.Payout != q.BidPrice {
					t.Errorf("quoted %s, paid %s", q.BidPrice, accepted.Payout)
				}
			}

			n.Manual.Advance(3 * quote.MaxAhead)
			after := shared()
			rejects(t, n, p, after, spec.InvalidTransactionID)
			node.Decode[node.Delivered](t, n.Post(t, n.Required, node.WithTransaction(node.MinimalPost, after.TransactionID)))

			n.Manual.Advance(quote.Validity - 3*quote.MaxAhead)
			node.Decode[node.Delivered](t, n.Post(t, p, node.WithTransaction(node.MinimalPost, expiring.TransactionID)))
		})
	}
	t.Run("terms that end and start again", func(t *testing.T) { termsStartAgain(t, n) })
}

// termsStartAgain removes a partner's terms and later sets new ones. The partner can use quotes
// from the shared base URL that were issued while it had no terms, but none that were issued while
// it had terms.
func termsStartAgain(t *testing.T, n *node.Node) {
	p := n.NewPartner(t, "twice-agreed", models.SigningRequired)
	agreePrice(t, n, p, 0, partners.PriceForm{Adjustment: "-10"})
	n.Manual.Advance(time.Minute)
	during := n.Ping(t, "", node.MinimalPing)
	agreePrice(t, n, p, 1, partners.PriceForm{Adjustment: "-20"})
	rejects(t, n, p, during, spec.InvalidTransactionID)

	agreePrice(t, n, p, 2, partners.PriceForm{})
	n.Manual.Advance(time.Minute)
	between := n.Ping(t, "", node.MinimalPing)
	n.Manual.Advance(time.Minute)
	agreePrice(t, n, p, 3, partners.PriceForm{Adjustment: "-30"})
	node.Decode[node.Delivered](t, n.Post(t, p, node.WithTransaction(node.MinimalPost, between.TransactionID)))
	n.Manual.Advance(time.Minute)
	rejects(t, n, p, n.Ping(t, "", node.MinimalPing), spec.InvalidTransactionID)
}

// rejects checks that a post with the quote is rejected and that nothing is stored.
func rejects(t *testing.T, n *node.Node, p node.Partner, q node.Quoted, r spec.Rejection) {
	t.Helper()
	n.Stores(t, node.Nothing, func() {
		if a := n.Post(t, p, node.WithTransaction(node.MinimalPost, q.TransactionID)); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, r.Start()) {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
}
