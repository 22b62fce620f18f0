package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// The specification's refusals of a post's headers. Each is a 401.
const (
	noTimestamp     = "Missing X-Timestamp header for replay attack protection"
	timestampFormat = "Invalid X-Timestamp header format"
	timestampWindow = "Timestamp outside allowed 300s tolerance window"
	badSignature    = "Invalid HMAC SHA-256 signature"
	noSignature     = "Missing required X-Signature-SHA256 header"
)

const (
	timestampHeader = "X-Timestamp"
	signatureHeader = "X-Signature-SHA256"
	aliasHeader     = "X-Signature"
)

// signatures sends posts whose headers are right and wrong in every way that a
// client library still lets through; the raw ones are among the bad input.
func signatures(t *testing.T, n *node) {
	post := func(name string, change ...func(*request)) scenario {
		return scenario{name: name, by: required, body: leastPost, change: change}
	}
	var rows []scenario
	accepted := func(name string, change ...func(*request)) {
		s := post(name, change...)
		s.status, s.want, s.stored = http.StatusOK, []string{`"status":"success"`, `"hmacVerified":true`}, oneLead
		rows = append(rows, s)
	}
	refused := func(name, message string, change ...func(*request)) {
		s := post(name, change...)
		s.status, s.want = http.StatusUnauthorized, refusal(message)
		rows = append(rows, s)
	}
	signature := func(change func(string) string) func(*request) {
		return func(r *request) { r.set(signatureHeader, change(r.header.Get(signatureHeader))) }
	}
	alias := func(r *request) { r.set(aliasHeader, r.header.Get(signatureHeader)) }
	at := func(timestamp string) func(*request) {
		return func(r *request) { signAt(r, n.required.secret, timestamp) }
	}
	now := n.now()

	accepted("as documented")
	accepted("the alias", alias, away(signatureHeader))
	accepted("both names, equal", alias)
	accepted("both names, equal but for the letter case", alias, signature(strings.ToUpper))
	accepted("hex in capitals", signature(strings.ToUpper))
	accepted("300 s late", at(n.nowPlus(-300)))
	accepted("300 s early", at(n.nowPlus(300)))
	accepted("leading zeros", at("000"+now))
	accepted("another media type", with("Content-Type", "text/plain"))

	refused("no X-Timestamp", noTimestamp, away(timestampHeader))
	refused("no X-Timestamp, and a signature that is none", noTimestamp, away(timestampHeader), with(signatureHeader, marker))
	refused("an empty X-Timestamp", timestampFormat, at(""))
	refused("an X-Timestamp in words", timestampFormat, at(marker))
	refused("a negative X-Timestamp", timestampFormat, at("-"+now))
	refused("a plus sign", timestampFormat, at("+"+now))
	refused("a fraction", timestampFormat, at(now+".0"))
	refused("hex digits", timestampFormat, at("0x6956e945"))
	refused("a date", timestampFormat, at("2026-01-02T03:04:05Z"))
	refused("two X-Timestamps", timestampFormat, with(timestampHeader, now, now))
	refused("301 s late", timestampWindow, at(n.nowPlus(-301)))
	refused("301 s early", timestampWindow, at(n.nowPlus(301)))
	refused("milliseconds", timestampWindow, at(now+"678"))
	refused("more than an integer holds", timestampWindow, at(strings.Repeat("9", 40)))
	refused("the window is judged before the signature", timestampWindow, at("0"), with(signatureHeader, marker))

	refused("another secret", badSignature, func(r *request) { signAt(r, n.off.secret, now) })
	refused("another timestamp", badSignature, with(timestampHeader, n.nowPlus(1)))
	refused("another body", badSignature, func(r *request) { r.body = strings.Replace(r.body, `"consent"`, ` "consent"`, 1) })
	refused("an empty signature", badSignature, with(signatureHeader, ""))
	refused("a signature that is none", badSignature, with(signatureHeader, marker))
	refused("a digit too few", badSignature, signature(func(s string) string { return s[1:] }))
	refused("a digit too many", badSignature, signature(func(s string) string { return s + "0" }))
	refused("a digit that is none", badSignature, signature(func(s string) string { return s[1:] + "g" }))
	refused("a digit changed", badSignature, signature(func(s string) string { return swap(s, 7) }))
	refused("a prefix", badSignature, signature(func(s string) string { return "sha256=" + s }))
	refused("two signatures", badSignature, func(r *request) {
		r.set(signatureHeader, r.header.Get(signatureHeader), r.header.Get(signatureHeader))
	})
	refused("two names with different values", badSignature, with(aliasHeader, strings.Repeat("0", 64)))
	refused("an empty alias beside a signature", badSignature, with(aliasHeader, ""))
	refused("not signed", noSignature, away(timestampHeader), away(signatureHeader))
	refused("not signed, with a timestamp", noSignature, away(signatureHeader))
	n.play(t, rows)
	t.Run("not enforced", func(t *testing.T) { unenforced(t, n) })
	t.Run("several secrets", func(t *testing.T) { severalSecrets(t, n) })
}

// unenforced checks partners from whom unsigned posts are taken: what they do
// send is checked all the same.
func unenforced(t *testing.T, n *node) {
	for name, by := range map[string]func(*node) partner{"report_only": reportOnly, "off": off} {
		unsigned := []func(*request){away(timestampHeader), away(signatureHeader)}
		not := []string{`"hmacVerified":true`}
		n.play(t, []scenario{
			{name: name + ", signed", by: by, body: leastPost, status: http.StatusOK, want: []string{`"hmacVerified":true`}, stored: oneLead},
			{name: name + ", unsigned", by: by, body: leastPost, change: unsigned, status: http.StatusOK, want: []string{`"hmacVerified":false`}, not: not, stored: oneLead},
			{name: name + ", unsigned with a timestamp", by: by, body: leastPost, change: unsigned[1:], status: http.StatusOK, want: []string{`"hmacVerified":false`}, stored: oneLead},
			{name: name + ", unsigned with a timestamp that is none", by: by, body: leastPost, change: []func(*request){unsigned[1], with(timestampHeader, marker)},
				status: http.StatusUnauthorized, want: refusal(timestampFormat)},
			{name: name + ", unsigned with an old timestamp", by: by, body: leastPost, change: []func(*request){unsigned[1], with(timestampHeader, n.nowPlus(-301))},
				status: http.StatusUnauthorized, want: refusal(timestampWindow)},
			{name: name + ", wrongly signed", by: by, body: leastPost, change: []func(*request){with(signatureHeader, strings.Repeat("0", 64))},
				status: http.StatusUnauthorized, want: refusal(badSignature)},
			{name: name + ", signed without a timestamp", by: by, body: leastPost, change: unsigned[:1], status: http.StatusUnauthorized, want: refusal(noTimestamp)},
			{name: name + ", unsigned and no JSON", by: by, body: "{", change: unsigned, status: http.StatusBadRequest, want: refusal("Invalid JSON payload")},
		})
	}
}

// severalSecrets rotates and revokes while the node runs: it follows within a
// second, and what was revoked signs nothing from the moment on.
func severalSecrets(t *testing.T, n *node) {
	p := n.newPartner(t, "rotating", models.SigningRequired)
	older, err := n.service.Secrets(t.Context(), p.Partner)
	if err != nil {
		t.Fatal(err)
	}
	newer, err := n.service.RotateSecret(t.Context(), p.Partner, "", partners.DefaultOverlap, false)
	if err != nil {
		t.Fatal(err)
	}
	renewed := p
	renewed.secret = newer.Plain
	n.knows(t, renewed)
	n.stores(t, stored{leads: 2, consents: 2, entries: 2, events: 2}, func() {
		n.deliver(t, p, leastPost)
		n.deliver(t, renewed, leastPost)
	})
	n.stores(t, nothing, func() {
		if err := n.service.RevokeSecret(t.Context(), p.Partner, older[0].ID); err != nil {
			t.Fatal(err)
		}
		tx := n.ping(t, p.base(), leastPing).TransactionID
		if a := n.post(t, p, withTransaction(leastPost, tx)); a.status != http.StatusUnauthorized {
			t.Errorf("a revoked secret: answered %d %s", a.status, a.body)
		}
	})
	n.hands.Advance(partners.DefaultOverlap)
	n.stores(t, oneLead, func() { n.deliver(t, renewed, leastPost) })
	if err := n.service.SetStatus(t.Context(), scope.System, p.ID, models.PartnerSuspended); err != nil {
		t.Fatal(err)
	}
}

// knows waits until the node's directory holds a partner with its secret: it
// answers a wrong payload with that problem rather than with 401 or 404.
func (n *node) knows(t *testing.T, p partner) {
	t.Helper()
	testkit.Eventually(t, 10*time.Second, "the node knows the new partner or secret", func() bool {
		return n.post(t, p, "{}").status == http.StatusBadRequest
	})
}
