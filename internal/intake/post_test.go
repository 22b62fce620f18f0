package intake_test

import (
	"context"
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
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/internal/ratecard"
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

// Only the partner that a quote was made for can use it (decision 5). Each case has a quote from
// one base URL and a post to another. "" is the shared base URL.
func TestQuotesBelongToTheirPartner(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	trial := n.AddPartner(t, "trial-only", models.SigningRequired,
		partners.NewAccount{Identifier: "trial-only-1", Sandbox: true},
		partners.NewAccount{Identifier: "trial-only-2"})
	n.DB.Exec(t, `UPDATE accounts SET is_default = false WHERE identifier = 'trial-only-2'`)
	n.DB.Exec(t, `UPDATE accounts SET is_default = true WHERE identifier = 'trial-only-1'`)
	priced := n.AddPartner(t, "own-prices", models.SigningRequired)
	n.setPrice(t, priced, 1000, `[]`, nil)
	n.Reload(t)

	for _, c := range []struct {
		name   string
		quoted string // base URL of the ping
		by     testkit.Partner
		at     string // base URL of the post
		with   string // a partnerId, or ""
		want   *rejection
		stored stored
	}{
		{"own quote on the own base URL", n.Required.Slug, n.Required, n.Required.Slug, "", nil, oneLead},
		{"own quote on the shared base URL", n.Required.Slug, n.Required, shared, "", nil, oneLead},
		{"shared quote on the own base URL", shared, n.Required, n.Required.Slug, "", nil, oneLead},
		{"shared quote on the shared base URL", shared, n.Required, shared, "", nil, oneLead},
		{"another partner's quote on the own base URL", n.Off.Slug, n.Required, n.Required.Slug, "", &notYourQuote, nothing},
		{"another partner's quote with the own partnerId", n.Off.Slug, n.Required, shared, n.Required.Accounts[0].Identifier,
			&notYourQuote, nothing},
		{"another partner's quote determines the owner", n.Off.Slug, n.Required, shared, "", &badSignature, nothing},

		{"own prices: own quote", priced.Slug, priced, priced.Slug, "", nil, oneLead},
		{"own prices: own quote, shared base URL", priced.Slug, priced, shared, "", nil, oneLead},
		{"own prices: quote from the shared base URL", shared, priced, priced.Slug, "", &notYourQuote, nothing},
		{"own prices: quote from the shared base URL, posted there", shared, priced, shared, "", &notYourQuote, nothing},
		{"own prices: quote used by another partner", priced.Slug, n.Required, n.Required.Slug, "", &notYourQuote, nothing},

		{"sandbox quote for the sandbox account", trial.Slug, trial, trial.Slug, "", nil, oneTest},
		{"sandbox quote for a paid account", trial.Slug, trial, trial.Slug, trial.Accounts[1].Identifier,
			&notYourQuote, nothing},
		{"shared quote for the sandbox account", shared, trial, trial.Slug, "", nil, oneTest},
		{"own quote for the partner's sandbox account", n.Required.Slug, n.Required, n.Required.Slug,
			n.Required.Accounts[1].Identifier, nil, oneTest},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := body(n.quote(t, c.quoted))
			if c.with != "" {
				text = body(n.quote(t, c.quoted), partnerID(c.with))
			}
			n.stores(t, c.stored, func() {
				if r := n.signed(c.by, c.at, text); c.want != nil {
					n.rejected(t, r, *c.want)
				} else if got := n.post(t, r); got.Partner != c.by.ID || got.Payout != got.Quote.Price {
					t.Errorf("got payout %s for price %s, partner %s", got.Payout, got.Quote.Price, got.Partner)
				}
			})
		})
	}
	if !n.ping(t, trial.Slug, leastPing).Quote.Sandbox || n.ping(t, n.Required.Slug, leastPing).Quote.Sandbox {
		t.Error("want a sandbox quote only if the default account is a sandbox account")
	}
}

// A node that is starting loads the partners and the rate card one after the other. While one of them is
// missing, pings and posts get a 503 with Retry-After (decision 21).
func TestNothingIsAcceptedUntilLoaded(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	loaded := body(n.quote(t, shared))
	for name, without := range map[string]func(*testkit.Platform){
		"rate card": func(p *testkit.Platform) {
			p.Card = snapshot.New("rate_card", func(context.Context) (*ratecard.CompiledVersion, error) { return nil, nil })
		},
		"directory": func(p *testkit.Platform) {
			p.Directory = snapshot.New("directory", func(context.Context) (*partners.Directory, error) { return nil, nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			starting := *n.Platform
			without(&starting)
			s := &node{Platform: &starting, in: starting.Intake(settings()), sees: n.sees}
			s.stores(t, nothing, func() { s.unavailable(t, n.Required, loaded, notSaved) })
			pinged := uuid.New()
			_, err := s.in.Ping(intake.PingRequest{ID: pinged, Slug: n.Required.Slug, Body: []byte(leastPing)})
			f := rejection{apperr.Unavailable, "not_loaded"}.check(t, err)
			if f.RetryAfter.Seconds() != 2 {
				t.Errorf("ping: got Retry-After %s, want 2s", f.RetryAfter)
			}
			s.rejected(t, s.signed(n.Required, shared, body("tx_none")), notSaved)
			logged := slices.ContainsFunc(n.logged(t, n.Required), func(r loggedRow) bool {
				return r.Request == pinged && r.Endpoint == "ping" && r.Status == 503
			})
			if logged != (name == "rate card") { // without the directory, the partner is not known
				t.Errorf("the ping is logged: %v", logged)
			}
		})
	}
	n.stores(t, oneLead, func() { n.post(t, n.signed(n.Required, n.Required.Slug, loaded)) })
}

func TestPostRejectsPartnerSuspendedSinceReload(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	t.Run("unsigned", func(t *testing.T) { suspendedBeforeUnsignedPost(t, n) })
	t.Run("signed", func(t *testing.T) { suspendedBeforeSignedPost(t, n) })
}

// A post stores no lead if its partner or account has just been suspended, or if its secret has
// just been revoked or has just expired, even if the node's directory is out of date (decision 21).
func suspendedBeforeSignedPost(t *testing.T, n *node) {
	for name, change := range map[string]func(*testing.T, testkit.Partner){
		"partner-suspended": func(t *testing.T, p testkit.Partner) { n.setStatus(t, p, models.PartnerSuspended) },
		"partner-pending":   func(t *testing.T, p testkit.Partner) { n.setStatus(t, p, models.PartnerPending) },
		"account-suspended": func(t *testing.T, p testkit.Partner) {
			n.DB.Exec(t, `UPDATE accounts SET status = 'suspended' WHERE id = $1`, p.Accounts[0].ID)
		},
		"secret-revoked": func(t *testing.T, p testkit.Partner) {
			if err := n.Partners.RevokeSecret(t.Context(), scope.System, p.Partner, p.SecretID); err != nil {
				t.Fatal(err)
			}
		},
		"secret-expired": func(t *testing.T, p testkit.Partner) {
			if _, err := n.Partners.RotateSecret(t.Context(), scope.System, p.Partner, "", 0, true); err != nil {
				t.Fatal(err)
			}
		},
		"secret-not-yet": func(t *testing.T, p testkit.Partner) {
			n.DB.Exec(t, `UPDATE signing_secrets SET not_before = $1 WHERE id = $2`, n.Time.Now().Add(time.Second), p.SecretID)
		},
	} {
		p := n.AddPartner(t, name, models.SigningOff)
		n.Reload(t)
		t.Run(name, func(t *testing.T) {
			b := body(n.quote(t, p.Slug))
			n.stores(t, oneLead, func() { n.post(t, n.signed(p, p.Slug, body(n.quote(t, p.Slug)))) })
			change(t, p)
			n.stores(t, nothing, func() {
				for _, slug := range []string{p.Slug, shared} {
					want := badSignature.as(models.OutcomeInactive)
					if slug != shared && !strings.HasPrefix(name, "secret") {
						want = inactive
					}
					result, err := n.in.Post(t.Context(), n.signed(p, slug, b))
					want.check(t, err)
					if result.LeadID != uuid.Nil {
						t.Error("the rejection contains a lead")
					}
				}
			})
		})
	}
}

// An unsigned post for a suspended partner gets the same response as one for an unknown partner.
func suspendedBeforeUnsignedPost(t *testing.T, n *node) {
	b := body(n.quote(t, n.Off.Slug))
	n.setStatus(t, n.Off, models.PartnerSuspended)
	n.stores(t, nothing, func() {
		n.rejected(t, unsigned(n.Off.Slug, b), noSignature.as(models.OutcomeInactive))
		n.withDefault(models.SigningOff).rejected(t, unsigned(n.Off.Slug, b), badPost.as(models.OutcomeInactive))
	})
	n.setStatus(t, n.Off, models.PartnerApproved)
	n.stores(t, oneLead, func() { n.post(t, unsigned(n.Off.Slug, b)) })
}
