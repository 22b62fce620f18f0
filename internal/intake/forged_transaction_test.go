package intake_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

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
	foreign, _, err := another.Append(nil, quote.Quote{
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
