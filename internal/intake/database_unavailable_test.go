package intake_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

// While the database is unavailable, pings are priced and posts get a 503 (decision 21).
func TestDatabaseUnavailable(t *testing.T) {
	t.Parallel()
	d, proxy := testkit.NewDatabaseBehind(t)
	n := nodeOn(t, d)
	done := body(n.quote(t, shared))
	first := n.post(t, n.signed(n.Required, n.Required.Slug, done))
	old := n.quote(t, shared)
	n.Time.Advance(quote.Validity)
	fresh := body(n.quote(t, shared))

	proxy.Down()
	n.stores(t, nothing, func() {
		if r := n.ping(t, n.Required.Slug, leastPing); !r.Accepted {
			t.Error("no price while the database is unavailable")
		}
		n.unavailable(t, n.Required, fresh, notSaved)
		n.unavailable(t, n.Required, done, notSaved)
		n.withWrapper(nil).unavailable(t, n.Required, done, noKeyWrapper)
		n.Time.Advance(1e6)
		// Checks that need no database still return their errors, but without the lead.
		f := n.rejected(t, n.signed(n.Required, n.Required.Slug, done), expired)
		withoutLead(t, f)
		if f.RetryAfter.Seconds() != 2 {
			t.Errorf("failed lookup: got Retry-After %s, want 2s", f.RetryAfter)
		}
		n.rejected(t, n.signed(n.Required, n.Required.Slug, body(old)), expired)
	})
	proxy.Up()
	n.stores(t, oneLead, func() { n.post(t, n.signed(n.Required, n.Required.Slug, fresh)) })
	if f := n.rejected(t, n.signed(n.Required, n.Required.Slug, done), expired); f.LeadID != id.Format(id.Lead, first.LeadID) {
		t.Errorf("got lead %q", f.LeadID)
	}
}
