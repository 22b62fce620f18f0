package intake_test

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/protocol/quote"
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

// A forged transactionId is rejected even while the database is unavailable, so that
// forgeries cost no query (decision 1).
func TestForgedTransactionNeedsNoQuery(t *testing.T) {
	t.Parallel()
	d, proxy := testkit.NewDatabaseBehind(t)
	n := nodeOn(t, d)
	genuine := n.quote(t, shared)
	another, err := quote.NewSealer(testkit.PlatformKeys(t, 2).QuoteKeys())
	if err != nil {
		t.Fatal(err)
	}
	foreign, _, err := another.Seal(nil, quote.Quote{
		Price:   money.Amount{Minor: 1, Currency: money.GBP},
		Country: [2]byte{'G', 'B'},
	}, n.Time.Now(), [quote.RandomSize]byte{})
	if err != nil {
		t.Fatal(err)
	}
	last := map[bool]string{true: "B", false: "A"}[strings.HasSuffix(genuine, "A")]
	proxy.Down()
	n.stores(t, nothing, func() {
		for name, forged := range map[string]string{
			"prefix only":           quote.Prefix,
			"different prefix":      "ld_" + genuine[3:],
			"invented":              quote.Prefix + strings.Repeat("A", 90),
			"last letter changed":   genuine[:len(genuine)-1] + last,
			"truncated":             genuine[:len(genuine)-4],
			"extended":              genuine + "AAAA",
			"from another platform": string(foreign),
			"longer than MaxLength": genuine + strings.Repeat("A", quote.MaxLength),
		} {
			t.Run(name, func(t *testing.T) {
				n.rejected(t, n.signed(n.Required, n.Required.Slug, body(forged)), badTransactionID)
				n.rejected(t, n.signed(n.Required, shared, body(forged)), badTransactionID)
				n.rejected(t, unsigned(n.Off.Slug, body(forged)), badTransactionID)
			})
		}
		n.rejected(t, n.signed(n.Required, n.Required.Slug, body(genuine)), notSaved) // the database is unavailable
	})
}

// A nonce has 24 bytes. The last eight, which follow the transaction's ID, are random. No two pings
// share all eight bytes, and each byte varies (decision 1).
func TestNonceEndsInRandomBytes(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const pings, head, identity, tail = 200, 2, 16, 8
	tails := map[[tail]byte]bool{}
	var values [tail]map[byte]bool
	for i := range values {
		values[i] = map[byte]bool{}
	}
	for range pings {
		r := n.ping(t, shared, leastPing)
		raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(string(r.TransactionID), quote.Prefix))
		if err != nil {
			t.Fatal(err)
		}
		if [identity]byte(raw[head:]) != r.Quote.ID {
			t.Errorf("got nonce prefix %x, want transaction %x", raw[head:head+identity], r.Quote.ID)
		}
		end := [tail]byte(raw[head+identity:])
		tails[end] = true
		for i, b := range end {
			values[i][b] = true
		}
	}
	if len(tails) != pings {
		t.Errorf("got %d different nonce suffixes for %d pings", len(tails), pings)
	}
	for i, seen := range values {
		if len(seen) < pings/4 { // 139 of 256 values are expected
			t.Errorf("byte %d of the nonce has only %d values in %d pings", identity+i, len(seen), pings)
		}
	}
}
