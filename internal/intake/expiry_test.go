package intake_test

import (
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

func TestExpiry(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	t.Run("rejections contain the delivered lead", func(t *testing.T) { rejectionsContainTheDeliveredLead(t, n) })
	t.Run("valid up to fifteen minutes", func(t *testing.T) { validUpToFifteenMinutes(t, n) })
}

func validUpToFifteenMinutes(t *testing.T, n *node) {
	for _, slug := range []string{shared, n.Required.Slug} {
		last, late := n.quote(t, slug), n.quote(t, slug)
		n.Time.Advance(15 * time.Minute)
		n.stores(t, oneLead, func() { n.post(t, n.signed(n.Required, slug, body(last))) })
		n.Time.Advance(time.Millisecond)
		n.stores(t, nothing, func() { withoutLead(t, n.rejected(t, n.signed(n.Required, slug, body(late)), expired)) })
	}
	ahead := n.quote(t, shared)
	n.Time.Advance(-quote.MaxAhead)
	n.stores(t, oneLead, func() { n.post(t, n.signed(n.Required, shared, body(ahead))) })
	n.Time.Advance(quote.MaxAhead)
	tooFar := n.quote(t, shared)
	n.Time.Advance(-quote.MaxAhead - time.Millisecond)
	n.rejected(t, n.signed(n.Required, shared, body(tooFar)), badTransactionID)
}

// withoutLead checks that a rejection does not contain a lead.
func withoutLead(t testing.TB, f *apperr.Error) {
	t.Helper()
	if f.LeadID != "" || !f.DeliveredAt.IsZero() {
		t.Errorf("rejection %q contains the lead", f.Reason)
	}
}

// A rejection for a delivered transaction contains the lead only for the partner that delivered it
// (decision 3). The transaction is from the shared base URL, so any partner can use it.
func rejectionsContainTheDeliveredLead(t *testing.T, n *node) {
	at := n.Time.Now()
	tx := n.quote(t, shared)
	first := n.post(t, n.signed(n.Off, n.Off.Slug, body(tx)))
	other := body(tx, `"notes":"another"`)

	rejectedWithLead := func(want rejection, bodies ...[]byte) {
		t.Helper()
		for _, b := range bodies {
			f := n.rejected(t, n.signed(n.Off, n.Off.Slug, b), want)
			if f.LeadID != id.Format(id.Lead, first.LeadID) || !f.DeliveredAt.Equal(at) {
				t.Errorf("got lead %q, delivered at %s", f.LeadID, f.DeliveredAt)
			}
			for name, r := range map[string]intake.PostRequest{
				"unsigned":                            unsigned(n.Off.Slug, b),
				"by another partner":                  n.signed(n.Required, n.Required.Slug, b),
				"by another partner, shared base URL": n.signed(n.ReportOnly, shared, b),
			} {
				if f := n.rejected(t, r, want); f.LeadID != "" || !f.DeliveredAt.IsZero() {
					t.Errorf("%s: rejection %q contains the lead", name, f.Reason)
				}
			}
			forged := n.signed(n.Off, n.Off.Slug, b)
			forged.Headers = n.Required.Sign(n.Time.Now(), b)
			withoutLead(t, n.rejected(t, forged, badSignature))
		}
	}
	n.stores(t, nothing, func() {
		n.Time.Advance(time.Minute)
		rejectedWithLead(delivered, other)
		n.Time.Advance(quote.Validity)
		rejectedWithLead(expired, body(tx), other) // expiry is checked first
	})
	if stored := n.post(t, n.signed(n.Required, shared, body(n.quote(t, shared)))); stored.LeadID == first.LeadID {
		t.Error("two transactions have the same lead")
	}
}
