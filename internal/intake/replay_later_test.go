package intake_test

import (
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

// beforeOwnPrices is a node with a partner that delivered a lead with a quote from the shared base
// URL and was then given its own prices. It also contains other posts with quotes from the shared
// base URL.
type beforeOwnPrices struct {
	*node
	first intake.PostResult
	at    time.Time
	body  []byte // of the first post
	other []byte // on the same transaction
	fresh []byte // not delivered
	taken []byte // delivered by another partner
}

func newBeforeOwnPrices(t *testing.T, d *testkit.Database) *beforeOwnPrices {
	t.Helper()
	n := &beforeOwnPrices{node: nodeOn(t, d)}
	tx := n.quote(t, shared)
	n.at, n.body, n.other = n.Time.Now(), body(tx), body(tx, `"notes":"another"`)
	n.fresh, n.taken = body(n.quote(t, shared)), body(n.quote(t, shared))
	n.first = n.post(t, n.signed(n.Off, n.Off.Slug, n.body))
	n.post(t, n.signed(n.Required, n.Required.Slug, n.taken))
	n.setPrice(t, n.Off, 1000, `[]`, nil)
	return n
}

// rejectedWithLead checks that the rejection of a signed post contains the lead, and that of an
// unsigned post does not.
func (n *beforeOwnPrices) rejectedWithLead(t *testing.T, body []byte, want rejection) {
	t.Helper()
	f := n.rejected(t, n.signed(n.Off, n.Off.Slug, body), want)
	if f.LeadID != id.Format(id.Lead, n.first.LeadID) || !f.DeliveredAt.Equal(n.at) {
		t.Errorf("got lead %q, delivered at %s", f.LeadID, f.DeliveredAt)
	}
	withoutLead(t, n.rejected(t, unsigned(n.Off.Slug, body), want))
}

// Leads that a partner delivered before it was given its own prices are found again. Other posts
// with quotes from the shared base URL are rejected (decisions 3, 5).
func TestLeadsFromBeforeOwnPricesAreFoundAgain(t *testing.T) {
	t.Parallel()
	n := newBeforeOwnPrices(t, testkit.NewDatabase(t))
	rejected := func(bodies ...[]byte) {
		t.Helper()
		for _, b := range bodies {
			withoutLead(t, n.rejected(t, n.signed(n.Off, n.Off.Slug, b), notYourQuote))
			withoutLead(t, n.rejected(t, unsigned(n.Off.Slug, b), notYourQuote))
		}
	}
	n.stores(t, nothing, func() {
		n.Time.Advance(time.Minute)
		for _, node := range []*node{n.node, n.withWrapper(nil)} {
			node.again(t, n.first, n.signed(n.Off, n.Off.Slug, n.body), true)
			node.again(t, n.first, n.signed(n.Off, shared, n.body), true)
			node.again(t, n.first, unsigned(n.Off.Slug, n.body), false)
		}
		n.rejectedWithLead(t, n.other, delivered)
		rejected(n.fresh, n.taken)
		n.Time.Advance(quote.Validity)
		n.rejectedWithLead(t, n.body, expired) // expiry is checked first
		n.rejectedWithLead(t, n.other, expired)
		rejected(n.fresh, n.taken)
	})
}

// Partners treat the rejection as final. If the lookup of the lead fails, the post gets a
// 503 with a Retry-After instead.
func TestLeadsFromBeforeOwnPricesWhileTheDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	d, proxy := testkit.NewDatabaseBehind(t)
	n := newBeforeOwnPrices(t, d)
	theirs := body(n.quote(t, n.Required.Slug), partnerID(n.Off.Accounts[0].Identifier))
	proxy.Down()
	n.stores(t, nothing, func() {
		for _, b := range [][]byte{n.body, n.other, n.fresh} {
			n.unavailable(t, n.Off, b, notSaved)
		}
		// Checks that need no database still return their errors.
		n.rejected(t, n.signed(n.Off, n.Off.Slug, theirs), notYourQuote)
		n.rejected(t, n.signed(n.Off, n.Off.Slug, body("tx_none")), badTransactionID)
		n.Time.Advance(quote.Validity + time.Millisecond)
		n.unavailable(t, n.Off, n.body, notSaved)
	})
	proxy.Up()
	n.rejectedWithLead(t, n.body, expired)
}
