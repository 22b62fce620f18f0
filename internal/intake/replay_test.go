package intake_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/intake"
)

// again checks that a post gets the first result (decision 3).
func (n *node) again(t testing.TB, first intake.PostResult, r intake.PostRequest, verified bool) {
	t.Helper()
	got := n.post(t, r)
	if !got.Replayed || got.HMACVerified != verified {
		t.Errorf("replayed %t, verified %t; want true, %t", got.Replayed, got.HMACVerified, verified)
	}
	if !sameAnswer(got, first) {
		t.Errorf("got %+v\nwant %+v", got, first)
	}
}

// sameAnswer compares two results except for HMACVerified and Replayed, which depend on the
// request.
func sameAnswer(a, b intake.PostResult) bool {
	return a.LeadID == b.LeadID && a.Payout == b.Payout && a.TransactionID == b.TransactionID &&
		reflect.DeepEqual(a.Envelope, b.Envelope) && a.Quote == b.Quote && a.Industry == b.Industry && a.Partner == b.Partner
}

func TestReplay(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	t.Run("replay signed", func(t *testing.T) { replaySigned(t, n) })
	t.Run("replay of an unsigned post", func(t *testing.T) { replayOfAnUnsignedPost(t, n) })
	t.Run("replay in a sandbox", func(t *testing.T) { replayInASandbox(t, n) })
	t.Run("replay after the digest is deleted", func(t *testing.T) { replayAfterTheDigestIsDeleted(t, n) })
}

func replaySigned(t *testing.T, n *node) {
	b := body(n.quote(t, shared))
	first := n.post(t, n.signed(n.Off, n.Off.Slug, b))
	if first.Replayed || !first.HMACVerified || first.Envelope.Salt != nil {
		t.Errorf("first result: replayed %t, verified %t, salt %d bytes", first.Replayed, first.HMACVerified,
			len(first.Envelope.Salt))
	}
	n.stores(t, nothing, func() {
		n.again(t, first, n.signed(n.Off, n.Off.Slug, b), true)
		n.Time.Advance(14 * time.Minute)
		n.again(t, first, n.signed(n.Off, n.Off.Slug, b), true) // another timestamp and signature
		n.again(t, first, n.signed(n.Off, shared, b), true)
		n.again(t, first, unsigned(n.Off.Slug, b), false)

		// Another node, which shares only the database and the keys.
		another := &node{n.Platform, n.Intake(settings()), n.sees}
		another.again(t, first, another.signed(n.Off, n.Off.Slug, b), true)

		// A body that differs by one insignificant byte.
		n.rejected(t, n.signed(n.Off, n.Off.Slug, append(b[:len(b):len(b)], ' ')), delivered)
		// The same bytes from another partner.
		withoutLead(t, n.rejected(t, n.signed(n.Required, n.Required.Slug, b), delivered))
	})
}

// An unsigned first post is reported as unverified. A replay is reported as verified if it is
// signed.
func replayOfAnUnsignedPost(t *testing.T, n *node) {
	b := body(n.quote(t, n.ReportOnly.Slug))
	first := n.post(t, unsigned(n.ReportOnly.Slug, b))
	if first.HMACVerified {
		t.Error("an unsigned post is reported as verified")
	}
	n.stores(t, nothing, func() {
		n.again(t, first, n.signed(n.ReportOnly, n.ReportOnly.Slug, b), true)
		n.again(t, first, unsigned(shared, b), false) // the quote identifies the partner
	})
}

// The digest of the body is kept for a day. Without it, a retry cannot be distinguished
// from a different post (decision 3).
func replayAfterTheDigestIsDeleted(t *testing.T, n *node) {
	b := body(n.quote(t, shared))
	first := n.post(t, n.signed(n.Off, n.Off.Slug, b))
	n.DB.Exec(t, `UPDATE lead_keys SET body_digest = NULL`)
	n.stores(t, nothing, func() {
		f := n.rejected(t, n.signed(n.Off, n.Off.Slug, b), delivered)
		if f.LeadID != id.Format(id.Lead, first.LeadID) {
			t.Errorf("got lead %q", f.LeadID)
		}
	})
}

func replayInASandbox(t *testing.T, n *node) {
	b := body(n.quote(t, shared), partnerID(n.Off.Accounts[1].Identifier))
	var first intake.PostResult
	n.stores(t, oneTest, func() { first = n.post(t, n.signed(n.Off, shared, b)) })
	n.stores(t, nothing, func() { n.again(t, first, n.signed(n.Off, shared, b), true) })
}
