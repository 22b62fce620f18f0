package intake_test

import (
	"bytes"
	"testing"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
)

// withWrapper returns the same node with a different key wrapper, or without one if w is nil.
func (n *node) withWrapper(w envelope.KeyWrapper) *node {
	parts := *n.Platform
	parts.Wrappers = envelope.NewWrappers(w)
	return &node{&parts, parts.Intake(settings()), n.sees}
}

// Without a data key, or with a wrapping key that is not registered, posts get a 503 and nothing is
// stored. Pings are priced, and leads that were delivered earlier are found (decisions 21, 23, 55).
func TestVaultUnavailable(t *testing.T) {
	t.Parallel()
	whole := newNode(t)
	vault := testkit.NewVault(t)
	vault.Seal(t)
	unregistered, err := envelope.NewLocal(bytes.Repeat([]byte{7}, envelope.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		wrapper envelope.KeyWrapper
		want    rejection
	}{
		"no key wrapper is set": {nil, noKeyWrapper},
		"Vault is sealed":       {vault.Wrapper(t, devvault.Serve), notSaved},
		"key is not registered": {unregistered, notSaved},
	} {
		t.Run(name, func(t *testing.T) {
			done := body(whole.quote(t, shared))
			first := whole.post(t, whole.signed(whole.Required, whole.Required.Slug, done))

			n := whole.withWrapper(c.wrapper)
			fresh := body(n.quote(t, shared)) // pings still work
			n.stores(t, nothing, func() {
				n.unavailable(t, n.Required, fresh, c.want)
				n.again(t, first, n.signed(n.Required, n.Required.Slug, done), true)
				f := n.rejected(t,
					n.signed(n.Required, n.Required.Slug, body(first.TransactionID, `"notes":"another"`)), delivered)
				if f.LeadID != id.Format(id.Lead, first.LeadID) {
					t.Errorf("got lead %q", f.LeadID)
				}
				withoutLead(t, n.rejected(t, n.signed(n.Off, n.Off.Slug, done), delivered))
				// Signatures and payloads are still checked.
				n.rejected(t, n.signed(n.Off, n.Required.Slug, fresh), badSignature)
				n.rejected(t, n.signed(n.Off, n.Off.Slug, []byte("{}")), badPost)
			})
			// The transaction can still be used.
			whole.stores(t, oneLead, func() { whole.post(t, whole.signed(whole.Required, whole.Required.Slug, fresh)) })
		})
	}
}
