package intake_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/models"
)

// attempt describes a post by its errors. An attempt that has only a timestamp and a partnerId
// is accepted.
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

// rule is one of the checks in decision 12. Two rules that share a part cannot be broken together.
type rule struct {
	name   string
	breaks func(*attempt)
	want   rejection
	known  bool // the owner is known when the check fails
	parts  string
}

const unknownAccount = "no-such-account"

// The headers of a signed post are checked first.
func signedRules(n *node) []rule {
	late := strconv.FormatInt(n.Time.Now().Unix()-301, 10)
	return append([]rule{
		{"no timestamp", func(a *attempt) { a.stamps = nil }, timestampMissing, false, "stamp"},
		{"timestamp format", func(a *attempt) { a.stamps = []string{"soon"} }, timestampFormat, false, "stamp"},
		{"timestamp window", func(a *attempt) { a.stamps = []string{late} }, timestampWindow, false, "stamp"},
		{"signature shape", func(a *attempt) { a.misshapen = true }, badSignature, false, "signature"},
		{"owner", func(a *attempt) { a.partnerID = unknownAccount }, badSignature.as(models.OutcomeUnknownAccount), false,
			"signature owner"},
		{"owner, unsigned", func(a *attempt) { a.partnerID, a.unsigned = unknownAccount, true }, badPost.as(models.OutcomeUnknownAccount), false,
			"stamp signature owner"},
		{"signature required", func(a *attempt) { a.unsigned = true }, noSignature, true, "stamp signature"},
		{"signature", func(a *attempt) { a.forged = true }, badSignature, true, "signature"},
	}, contentRules()...)
}

// An unsigned post needs no timestamp. If it has one, the timestamp is checked after the signing
// mode (decision 15).
func unsignedRules(n *node) []rule {
	late := strconv.FormatInt(n.Time.Now().Unix()+301, 10)
	return append([]rule{
		{"owner", func(a *attempt) { a.partnerID = unknownAccount }, badPost.as(models.OutcomeUnknownAccount), false,
			"owner"},
		{"signature required", func(a *attempt) { a.partnerID = n.Required.Accounts[0].Identifier }, noSignature, true,
			"owner"},
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

// orderTest is the partner under test, with a transaction of each kind.
type orderTest struct {
	*node
	own    testkit.Partner
	quotes map[quoteKind]string

	checker *intake.Checker // must agree with the endpoint
}

type quoteKind struct{ foreign, expired, delivered bool }

func newOrderTest(t *testing.T, n *node, own, other testkit.Partner) *orderTest {
	c := &orderTest{
		node: n, own: own, quotes: map[quoteKind]string{}, checker: intake.NewChecker(n.Deps, models.SigningOff),
	}
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

func (c *orderTest) try(t *testing.T, a attempt) (uuid.UUID, error) {
	t.Helper()
	tx := c.quotes[quoteKind{a.foreign, a.expired, a.delivered}]
	if a.junk {
		tx = "tx_junk"
	}
	text := string(body(tx, partnerID(a.partnerID), `"notes":"different from the first body"`))
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
	checked, failed := c.checker.Check(t.Context(), scope.System, r)
	result, err := c.in.Post(t.Context(), r)
	if failed != nil || !sameResponse(checked, err) {
		t.Errorf("the checker expects %v (%v), but the response is %v", checked.Err, failed, err)
	}
	return result.Partner, err
}

// sameResponse reports whether a checker expects the response to a post, and finds the check that rejects it.
func sameResponse(checked intake.CheckedPost, err error) bool {
	want := apperr.As(err)
	if want == nil || checked.Err == nil {
		return want == nil && checked.Err == nil && checked.Stop == ""
	}
	failed := func(check intake.Check) bool { return checked.Failed[check] != nil }
	first := checked.Order[slices.IndexFunc(checked.Order, failed)]
	return checked.Err.Reason == want.Reason && checked.Err.PublicCode == want.PublicCode && checked.Stop == first &&
		checked.Failed[first].Reason == want.Reason
}

// TestOrderOfChecks breaks each rule alone and each pair of rules together. In a pair, the earlier
// rule must determine the error (decisions 12, 13, 14, 15, 5, 3).
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	n := newNode(t).withDefault(models.SigningOff)
	t.Run("signed", func(t *testing.T) {
		c := newOrderTest(t, n, n.Required, n.ReportOnly)
		valid := attempt{
			stamps:    []string{strconv.FormatInt(n.Time.Now().Unix(), 10)},
			partnerID: n.Required.Accounts[0].Identifier,
		}
		c.checkAll(t, signedRules(n), valid)
	})
	t.Run("unsigned", func(t *testing.T) {
		c := newOrderTest(t, n, n.Off, n.ReportOnly)
		c.checkAll(t, unsignedRules(n), attempt{unsigned: true, partnerID: n.Off.Accounts[0].Identifier})
	})
}

func (c *orderTest) checkAll(t *testing.T, rules []rule, valid attempt) {
	c.stores(t, nothing, func() {
		for i, first := range rules {
			c.checkPair(t, first, first, valid)
			for _, second := range rules[i+1:] {
				if !conflict(first, second) {
					c.checkPair(t, first, second, valid)
				}
			}
		}
	})
	c.stores(t, oneLead, func() {
		if whose, err := c.try(t, valid); err != nil || whose != c.own.ID {
			t.Errorf("valid post: got error %v", err)
		}
	})
}

func (c *orderTest) checkPair(t *testing.T, first, second rule, valid attempt) {
	t.Run(fmt.Sprintf("%s before %s", first.name, second.name), func(t *testing.T) {
		a := valid
		second.breaks(&a)
		first.breaks(&a)
		whose, err := c.try(t, a)
		first.want.check(t, err)
		if known := whose != uuid.Nil; known != first.known {
			t.Errorf("got owner %s", whose)
		}
	})
}

func conflict(a, b rule) bool {
	return slices.ContainsFunc(strings.Fields(a.parts), func(part string) bool {
		return slices.Contains(strings.Fields(b.parts), part)
	})
}
