package intake_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/devvault"
	"github.com/pingpost/pingpost/internal/envelope"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/testkit"
)

// withWrapper is the same node with another key wrapper; nil for none.
func (n *node) withWrapper(w envelope.KeyWrapper) *node {
	parts := *n.Platform
	parts.Wrappers = envelope.NewWrappers(w)
	return &node{&parts, parts.Intake(settings()), n.sees}
}

// unavailable sends a post that must be asked to come back in two seconds (D21).
func (n *node) unavailable(t testing.TB, by testkit.Partner, body []byte, want refusal) {
	t.Helper()
	if f := n.refused(t, n.signed(by, by.Slug, body), want); f.RetryAfter.Seconds() != 2 {
		t.Errorf("asked to come back after %s", f.RetryAfter)
	}
}

// Without a data key nothing is stored, but pings are priced and what was
// delivered before is found again (D21, D23).
func TestVaultAway(t *testing.T) {
	t.Parallel()
	whole := newNode(t)
	vault := testkit.NewVault(t)
	vault.Seal(t)
	for name, c := range map[string]struct {
		wrapper envelope.KeyWrapper
		want    refusal
	}{
		"no key wrapper":           {nil, noKeyWrapper},
		"a wrapper that is sealed": {vault.Wrapper(t, devvault.Serve), notSaved},
	} {
		t.Run(name, func(t *testing.T) {
			done := body(whole.quote(t, shared))
			first := whole.post(t, whole.signed(whole.Required, whole.Required.Slug, done))

			n := whole.withWrapper(c.wrapper)
			fresh := body(n.quote(t, shared)) // pings go on
			n.stores(t, nothing, func() {
				n.unavailable(t, n.Required, fresh, c.want)
				n.again(t, first, n.signed(n.Required, n.Required.Slug, done), true)
				f := n.refused(t,
					n.signed(n.Required, n.Required.Slug, body(first.TransactionID, `"notes":"another"`)), delivered)
				if f.LeadID != id.Format(id.Lead, first.LeadID) {
					t.Errorf("the deliverer is told lead %q", f.LeadID)
				}
				notFound(t, n.refused(t, n.signed(n.Off, n.Off.Slug, done), delivered))
				// Signatures and payloads are judged as ever.
				n.refused(t, n.signed(n.Off, n.Required.Slug, fresh), badSignature)
				n.refused(t, n.signed(n.Off, n.Off.Slug, []byte("{}")), badPost)
			})
			// The transaction was not spent.
			whole.stores(t, oneLead, func() { whole.post(t, whole.signed(whole.Required, whole.Required.Slug, fresh)) })
		})
	}
}

func TestDatabaseAway(t *testing.T) {
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
			t.Error("no price while the database is away")
		}
		n.unavailable(t, n.Required, fresh, notSaved)
		n.unavailable(t, n.Required, done, notSaved)
		n.withWrapper(nil).unavailable(t, n.Required, done, noKeyWrapper)
		n.Time.Advance(1e6)
		// What needs no database is told as ever; which lead it was cannot be.
		f := n.refused(t, n.signed(n.Required, n.Required.Slug, done), expired)
		notFound(t, f)
		if f.RetryAfter.Seconds() != 2 {
			t.Errorf("an outcome that cannot be looked up is final: Retry-After %s", f.RetryAfter)
		}
		n.refused(t, n.signed(n.Required, n.Required.Slug, body(old)), expired)
	})
	proxy.Up()
	n.stores(t, oneLead, func() { n.post(t, n.signed(n.Required, n.Required.Slug, fresh)) })
	if f := n.refused(t, n.signed(n.Required, n.Required.Slug, done), expired); f.LeadID != id.Format(id.Lead, first.LeadID) {
		t.Errorf("the deliverer is told lead %q", f.LeadID)
	}
}
