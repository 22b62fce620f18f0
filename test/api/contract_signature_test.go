package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

const (
	timestampHeader = "X-Timestamp"
	signatureHeader = "X-Signature-SHA256"
	aliasHeader     = "X-Signature"
)

// signatures sends posts whose headers are right and wrong in every way that a
// client library still lets through; the raw ones are among the bad input.
func signatures(t *testing.T, n *node.Node) {
	post := func(name string, change ...func(*node.Request)) scenario {
		return scenario{name: name, by: required, body: node.MinimalPost, change: change}
	}
	var rows []scenario
	accepted := func(name string, change ...func(*node.Request)) {
		s := post(name, change...)
		s.status, s.want, s.stored = http.StatusOK, []string{`"status":"success"`, `"hmacVerified":true`}, node.OneLead
		rows = append(rows, s)
	}
	refused := func(name, message string, change ...func(*node.Request)) {
		s := post(name, change...)
		s.status, s.want = http.StatusUnauthorized, refusal(message)
		rows = append(rows, s)
	}
	signature := func(change func(string) string) func(*node.Request) {
		return func(r *node.Request) { r.SetHeader(signatureHeader, change(r.Header.Get(signatureHeader))) }
	}
	alias := func(r *node.Request) { r.SetHeader(aliasHeader, r.Header.Get(signatureHeader)) }
	at := func(timestamp string) func(*node.Request) {
		return func(r *node.Request) { node.SignAt(r, n.Required.Secret, timestamp) }
	}
	now := n.Now()

	accepted("as documented")
	accepted("the alias", alias, away(signatureHeader))
	accepted("both names, equal", alias)
	accepted("both names, equal but for the letter case", alias, signature(strings.ToUpper))
	accepted("hex in capitals", signature(strings.ToUpper))
	accepted("300 s late", at(n.NowPlus(-300)))
	accepted("300 s early", at(n.NowPlus(300)))
	accepted("leading zeros", at("000"+now))
	accepted("another media type", with("Content-Type", "text/plain"))

	refused("no X-Timestamp", spec.TimestampMissing, away(timestampHeader))
	refused("no X-Timestamp, and a signature that is none", spec.TimestampMissing, away(timestampHeader),
		with(signatureHeader, node.Marker))
	refused("an empty X-Timestamp", spec.TimestampFormat, at(""))
	refused("an X-Timestamp in words", spec.TimestampFormat, at(node.Marker))
	refused("a negative X-Timestamp", spec.TimestampFormat, at("-"+now))
	refused("a plus sign", spec.TimestampFormat, at("+"+now))
	refused("a fraction", spec.TimestampFormat, at(now+".0"))
	refused("hex digits", spec.TimestampFormat, at("0x6956e945"))
	refused("a date", spec.TimestampFormat, at("2026-01-02T03:04:05Z"))
	refused("two X-Timestamps", spec.TimestampFormat, with(timestampHeader, now, now))
	refused("301 s late", spec.TimestampWindow, at(n.NowPlus(-301)))
	refused("301 s early", spec.TimestampWindow, at(n.NowPlus(301)))
	refused("milliseconds", spec.TimestampWindow, at(now+"678"))
	refused("more than an integer holds", spec.TimestampWindow, at(strings.Repeat("9", 40)))
	refused("the window is judged before the signature", spec.TimestampWindow, at("0"), with(signatureHeader, node.Marker))

	refused("another secret", spec.BadSignature, func(r *node.Request) { node.SignAt(r, n.Off.Secret, now) })
	refused("another timestamp", spec.BadSignature, with(timestampHeader, n.NowPlus(1)))
	refused("another body", spec.BadSignature,
		func(r *node.Request) { r.Body = strings.Replace(r.Body, `"consent"`, ` "consent"`, 1) })
	refused("an empty signature", spec.BadSignature, with(signatureHeader, ""))
	refused("a signature that is none", spec.BadSignature, with(signatureHeader, node.Marker))
	refused("a digit too few", spec.BadSignature, signature(func(s string) string { return s[1:] }))
	refused("a digit too many", spec.BadSignature, signature(func(s string) string { return s + "0" }))
	refused("a digit that is none", spec.BadSignature, signature(func(s string) string { return s[1:] + "g" }))
	refused("a digit changed", spec.BadSignature, signature(func(s string) string { return swap(s, 7) }))
	refused("a prefix", spec.BadSignature, signature(func(s string) string { return "sha256=" + s }))
	refused("two signatures", spec.BadSignature, func(r *node.Request) {
		r.SetHeader(signatureHeader, r.Header.Get(signatureHeader), r.Header.Get(signatureHeader))
	})
	refused("two names with different values", spec.BadSignature, with(aliasHeader, strings.Repeat("0", 64)))
	refused("an empty alias beside a signature", spec.BadSignature, with(aliasHeader, ""))
	refused("not signed", spec.SignatureMissing, away(timestampHeader), away(signatureHeader))
	refused("not signed, with a timestamp", spec.SignatureMissing, away(signatureHeader))
	play(t, n, rows)
	t.Run("not enforced", func(t *testing.T) { unenforced(t, n) })
	t.Run("several secrets", func(t *testing.T) { severalSecrets(t, n) })
}

// unenforced checks partners from whom unsigned posts are taken: what they do
// send is checked all the same.
func unenforced(t *testing.T, n *node.Node) {
	for name, by := range map[string]func(*node.Node) node.Partner{"report_only": reportOnly, "off": off} {
		unsigned := []func(*node.Request){away(timestampHeader), away(signatureHeader)}
		not := []string{`"hmacVerified":true`}
		play(t, n, []scenario{
			{
				name:   name + ", signed",
				by:     by,
				body:   node.MinimalPost,
				status: http.StatusOK,
				want:   []string{`"hmacVerified":true`},
				stored: node.OneLead,
			},
			{
				name:   name + ", unsigned",
				by:     by,
				body:   node.MinimalPost,
				change: unsigned,
				status: http.StatusOK,
				want:   []string{`"hmacVerified":false`},
				not:    not,
				stored: node.OneLead,
			},
			{
				name:   name + ", unsigned with a timestamp",
				by:     by,
				body:   node.MinimalPost,
				change: unsigned[1:],
				status: http.StatusOK,
				want:   []string{`"hmacVerified":false`},
				stored: node.OneLead,
			},
			{
				name:   name + ", unsigned with a timestamp that is none",
				by:     by,
				body:   node.MinimalPost,
				change: []func(*node.Request){unsigned[1], with(timestampHeader, node.Marker)},
				status: http.StatusUnauthorized,
				want:   refusal(spec.TimestampFormat),
			},
			{
				name:   name + ", unsigned with an old timestamp",
				by:     by,
				body:   node.MinimalPost,
				change: []func(*node.Request){unsigned[1], with(timestampHeader, n.NowPlus(-301))},
				status: http.StatusUnauthorized,
				want:   refusal(spec.TimestampWindow),
			},
			{
				name:   name + ", wrongly signed",
				by:     by,
				body:   node.MinimalPost,
				change: []func(*node.Request){with(signatureHeader, strings.Repeat("0", 64))},
				status: http.StatusUnauthorized,
				want:   refusal(spec.BadSignature),
			},
			{
				name:   name + ", signed without a timestamp",
				by:     by,
				body:   node.MinimalPost,
				change: unsigned[:1],
				status: http.StatusUnauthorized,
				want:   refusal(spec.TimestampMissing),
			},
			{
				name:   name + ", unsigned and no JSON",
				by:     by,
				body:   "{",
				change: unsigned,
				status: http.StatusBadRequest,
				want:   refusal(spec.InvalidJSON),
			},
		})
	}
}

// severalSecrets rotates and revokes while the node runs: it follows within a
// second, and what was revoked signs nothing from the moment on.
func severalSecrets(t *testing.T, n *node.Node) {
	p := n.NewPartner(t, "rotating", models.SigningRequired)
	older, err := n.Partners.Secrets(t.Context(), p.Partner)
	if err != nil {
		t.Fatal(err)
	}
	newer, err := n.Partners.RotateSecret(t.Context(), p.Partner, "", partners.DefaultOverlap, false)
	if err != nil {
		t.Fatal(err)
	}
	renewed := p
	renewed.Secret = newer.Plain
	n.AwaitPartner(t, renewed)
	n.Stores(t, node.Stored{Leads: 2, Consents: 2, Entries: 2, Events: 2}, func() {
		n.Deliver(t, p, node.MinimalPost)
		n.Deliver(t, renewed, node.MinimalPost)
	})
	n.Stores(t, node.Nothing, func() {
		if err := n.Partners.RevokeSecret(t.Context(), p.Partner, older[0].ID); err != nil {
			t.Fatal(err)
		}
		tx := n.Ping(t, p.Base(), node.MinimalPing).TransactionID
		if a := n.Post(t, p, node.WithTransaction(node.MinimalPost, tx)); a.Status != http.StatusUnauthorized {
			t.Errorf("a revoked secret: answered %d %s", a.Status, a.Body)
		}
	})
	n.Manual.Advance(partners.DefaultOverlap)
	n.Stores(t, node.OneLead, func() { n.Deliver(t, renewed, node.MinimalPost) })
	if err := n.Partners.SetStatus(t.Context(), scope.System, p.ID, models.PartnerSuspended); err != nil {
		t.Fatal(err)
	}
}
