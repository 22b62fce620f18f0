package intake_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/signing"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// attempt is a post with everything that can be wrong with it. The zero value with a
// timestamp and a partnerId is accepted.
type attempt struct {
	stamps    []string // X-Timestamp
	unsigned  bool
	misshapen bool // the signature
	forged    bool
	partnerID string
	broken    bool // the JSON
	noConsent bool
	junk      bool // the transactionId; the next three concern its quote
	foreign   bool
	expired   bool
	delivered bool
}

// rule is a check of decision 12. Two rules that share a part cannot be broken together.
type rule struct {
	name   string
	breaks func(*attempt)
	want   rejection
	known  bool // the owner is known by then
	parts  string
}

const nobodys = "no-such-account"

// The headers of a signed post are checked first.
func signedRules(n *node) []rule {
	late := strconv.FormatInt(n.Time.Now().Unix()-301, 10)
	return append([]rule{
		{"no timestamp", func(a *attempt) { a.stamps = nil }, timestampMissing, false, "stamp"},
		{"timestamp format", func(a *attempt) { a.stamps = []string{"soon"} }, timestampFormat, false, "stamp"},
		{"timestamp window", func(a *attempt) { a.stamps = []string{late} }, timestampWindow, false, "stamp"},
		{"signature shape", func(a *attempt) { a.misshapen = true }, badSignature, false, "signature"},
		{"whose post", func(a *attempt) { a.partnerID = nobodys }, badSignature, false, "signature whose"},
		{"whose post, unsigned", func(a *attempt) { a.partnerID, a.unsigned = nobodys, true }, badPost, false,
			"stamp signature whose"},
		{"signature required", func(a *attempt) { a.unsigned = true }, noSignature, true, "stamp signature"},
		{"signature", func(a *attempt) { a.forged = true }, badSignature, true, "signature"},
	}, contentRules()...)
}

// An unsigned post needs no timestamp. One that is sent is checked after it is known that
// the post need not be signed (decision 15).
func unsignedRules(n *node) []rule {
	late := strconv.FormatInt(n.Time.Now().Unix()+301, 10)
	return append([]rule{
		{"whose post", func(a *attempt) { a.partnerID = nobodys }, badPost, false, "whose"},
		{"signature required", func(a *attempt) { a.partnerID = n.Required.Accounts[0].Identifier }, noSignature, true, "whose"},
		{"timestamp format", func(a *attempt) { a.stamps = []string{"1", "2"} }, timestampFormat, true, "stamp"},
		{"timestamp window", func(a *attempt) { a.stamps = []string{late} }, timestampWindow, true, "stamp"},
	}, contentRules()...)
}

func contentRules() []rule {
	return []rule{
		{"JSON", func(a *attempt) { a.broken = true }, badJSON, true, ""},
		{"payload", func(a *attempt) { a.noConsent = true }, badPost, true, ""},
		{"transactionId format", func(a *attempt) { a.junk = true }, badTransactionID, true, ""},
		{"quote owner", func(a *attempt) { a.foreign = true }, notYourQuote, true, ""},
		{"expiry", func(a *attempt) { a.expired = true }, expired, true, ""},
		{"delivered", func(a *attempt) { a.delivered = true }, delivered, true, ""},
	}
}

// course is the partner under test, with a transaction of every kind.
type course struct {
	*node
	own    testkit.Partner
	quotes map[quoteKind]string
}

type quoteKind struct{ foreign, expired, delivered bool }

func newCourse(t *testing.T, n *node, own, other testkit.Partner) *course {
	c := &course{node: n, own: own, quotes: map[quoteKind]string{}}
	for _, old := range []bool{true, false} {
		for _, foreign := range []bool{false, true} {
			by := own
			if foreign {
				by = other
			}
			for _, taken := range []bool{false, true} {
				tx := n.quote(t, by.Slug)
				if taken {
					n.post(t, n.signed(by, by.Slug, body(tx)))
				}
				c.quotes[quoteKind{foreign, old, taken}] = tx
			}
		}
		if old {
			n.Time.Advance(quote.Validity + time.Millisecond)
		}
	}
	return c
}

func (c *course) try(t *testing.T, a attempt) (uuid.UUID, error) {
	t.Helper()
	tx := c.quotes[quoteKind{a.foreign, a.expired, a.delivered}]
	if a.junk {
		tx = "tx_junk"
	}
	text := string(body(tx, partnerID(a.partnerID), `"notes":"another body than the first"`))
	if a.noConsent {
		text = strings.Replace(text, "true", "false", 1)
	}
	if a.broken {
		text += "}"
	}
	r := unsigned(shared, []byte(text))
	r.Headers.Timestamp = a.stamps
	if !a.unsigned {
		secret := c.own.Secret
		if a.forged {
			secret = c.Off.Secret
		}
		signature := signing.Sign([]byte(secret), strings.Join(a.stamps, ""), r.Body)
		if a.misshapen {
			signature = "sha256=" + signature
		}
		r.Headers.Signature = []string{signature}
	}
	result, err := c.in.Post(t.Context(), r)
	return result.Partner, err
}

// TestOrderOfChecks breaks each rule alone and each pair of rules. The earlier rule must
// determine the error (decisions 12, 13, 14, 15, 5, 3).
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	n := newNode(t).withDefault(models.SigningOff)
	t.Run("signed", func(t *testing.T) {
		c := newCourse(t, n, n.Required, n.ReportOnly)
		fair := attempt{
			stamps:    []string{strconv.FormatInt(n.Time.Now().Unix(), 10)},
			partnerID: n.Required.Accounts[0].Identifier,
		}
		c.hold(t, signedRules(n), fair)
	})
	t.Run("unsigned", func(t *testing.T) {
		c := newCourse(t, n, n.Off, n.ReportOnly)
		c.hold(t, unsignedRules(n), attempt{unsigned: true, partnerID: n.Off.Accounts[0].Identifier})
	})
}

func (c *course) hold(t *testing.T, rules []rule, fair attempt) {
	c.stores(t, nothing, func() {
		for i, first := range rules {
			c.holdRule(t, first, first, fair)
			for _, second := range rules[i+1:] {
				if !clash(first, second) {
					c.holdRule(t, first, second, fair)
				}
			}
		}
	})
	c.stores(t, oneLead, func() {
		if whose, err := c.try(t, fair); err != nil || whose != c.own.ID {
			t.Errorf("valid post: got error %v", err)
		}
	})
}

func (c *course) holdRule(t *testing.T, first, second rule, fair attempt) {
	t.Run(fmt.Sprintf("%s before %s", first.name, second.name), func(t *testing.T) {
		a := fair
		second.breaks(&a)
		first.breaks(&a)
		whose, err := c.try(t, a)
		first.want.check(t, err)
		if known := whose != uuid.Nil; known != first.known {
			t.Errorf("got owner %s", whose)
		}
	})
}

func clash(a, b rule) bool {
	return slices.ContainsFunc(strings.Fields(a.parts), func(part string) bool {
		return slices.Contains(strings.Fields(b.parts), part)
	})
}
