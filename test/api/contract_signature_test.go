package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

const (
	timestampHeader = "X-Timestamp"
	signatureHeader = "X-Signature-SHA256"
	aliasHeader     = "X-Signature"
)

// signatures sends valid and invalid headers. TestBadInput sends the headers that a client library
// cannot send.
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
	rejected := func(name string, r spec.Rejection, change ...func(*node.Request)) {
		s := post(name, change...)
		s.status, s.want = http.StatusUnauthorized, rejection(r)
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
	accepted("the alias", alias, without(signatureHeader))
	accepted("both names, equal", alias)
	accepted("both names, equal except for the letter case", alias, signature(strings.ToUpper))
	accepted("hex in upper case", signature(strings.ToUpper))
	accepted("300 s late", at(n.NowPlus(-300)))
	accepted("300 s early", at(n.NowPlus(300)))
	accepted("leading zeros", at("000"+now))
	accepted("another media type", with("Content-Type", "text/plain"))

	rejected("no X-Timestamp", spec.TimestampMissing, without(timestampHeader))
	rejected("no X-Timestamp, and an invalid signature", spec.TimestampMissing, without(timestampHeader),
		with(signatureHeader, node.Marker))
	rejected("an empty X-Timestamp", spec.TimestampFormat, at(""))
	rejected("an X-Timestamp that is not a number", spec.TimestampFormat, at(node.Marker))
	rejected("a negative X-Timestamp", spec.TimestampFormat, at("-"+now))
	rejected("a plus sign", spec.TimestampFormat, at("+"+now))
	rejected("a fraction", spec.TimestampFormat, at(now+".0"))
	rejected("hex digits", spec.TimestampFormat, at("0x6956e945"))
	rejected("a date", spec.TimestampFormat, at("2026-01-02T03:04:05Z"))
	rejected("two X-Timestamps", spec.TimestampFormat, with(timestampHeader, now, now))
	rejected("301 s late", spec.TimestampWindow, at(n.NowPlus(-301)))
	rejected("301 s early", spec.TimestampWindow, at(n.NowPlus(301)))
	rejected("milliseconds", spec.TimestampWindow, at(now+"678"))
	rejected("integer overflow", spec.TimestampWindow, at(strings.Repeat("9", 40)))
	rejected("the time window is checked before the signature", spec.TimestampWindow, at("0"), with(signatureHeader, node.Marker))

	rejected("another secret", spec.BadSignature, func(r *node.Request) { node.SignAt(r, n.Off.Secret, now) })
	rejected("another timestamp", spec.BadSignature, with(timestampHeader, n.NowPlus(1)))
	rejected("another body", spec.BadSignature,
		func(r *node.Request) { r.Body = strings.Replace(r.Body, `"consent"`, ` "consent"`, 1) })
	rejected("an empty signature", spec.MalformedSignature, with(signatureHeader, ""))
	rejected("an invalid signature", spec.MalformedSignature, with(signatureHeader, node.Marker))
	rejected("a missing digit", spec.MalformedSignature, signature(func(s string) string { return s[1:] }))
	rejected("an extra digit", spec.MalformedSignature, signature(func(s string) string { return s + "0" }))
	rejected("an invalid digit", spec.MalformedSignature, signature(func(s string) string { return s[1:] + "g" }))
	rejected("a digit changed", spec.BadSignature, signature(func(s string) string { return swap(s, 7) }))
	rejected("a prefix", spec.MalformedSignature, signature(func(s string) string { return "sha256=" + s }))
	rejected("two signatures", spec.MalformedSignature, func(r *node.Request) {
		r.SetHeader(signatureHeader, r.Header.Get(signatureHeader), r.Header.Get(signatureHeader))
	})
	rejected("two names with different values", spec.MalformedSignature, with(aliasHeader, strings.Repeat("0", 64)))
	rejected("a signature and an empty alias", spec.MalformedSignature, with(aliasHeader, ""))
	rejected("not signed", spec.SignatureMissing, without(timestampHeader), without(signatureHeader))
	rejected("not signed, with a timestamp", spec.SignatureMissing, without(signatureHeader))
	play(t, n, rows)
	t.Run("not required", func(t *testing.T) { unenforced(t, n) })
	t.Run("several secrets", func(t *testing.T) { severalSecrets(t, n) })
}

// unenforced tests partners that do not have to sign their posts. If they sign them anyway, the
// service checks the signatures.
func unenforced(t *testing.T, n *node.Node) {
	for name, by := range map[string]func(*node.Node) node.Partner{"report_only": reportOnly, "off": off} {
		unsigned := []func(*node.Request){without(timestampHeader), without(signatureHeader)}
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
				name:   name + ", unsigned with an invalid timestamp",
				by:     by,
				body:   node.MinimalPost,
				change: []func(*node.Request){unsigned[1], with(timestampHeader, node.Marker)},
				status: http.StatusUnauthorized,
				want:   rejection(spec.TimestampFormat),
			},
			{
				name:   name + ", unsigned with an old timestamp",
				by:     by,
				body:   node.MinimalPost,
				change: []func(*node.Request){unsigned[1], with(timestampHeader, n.NowPlus(-301))},
				status: http.StatusUnauthorized,
				want:   rejection(spec.TimestampWindow),
			},
			{
				name:   name + ", invalid signature",
				by:     by,
				body:   node.MinimalPost,
				change: []func(*node.Request){with(signatureHeader, strings.Repeat("0", 64))},
				status: http.StatusUnauthorized,
				want:   rejection(spec.BadSignature),
			},
			{
				name:   name + ", signed without a timestamp",
				by:     by,
				body:   node.MinimalPost,
				change: unsigned[:1],
				status: http.StatusUnauthorized,
				want:   rejection(spec.TimestampMissing),
			},
			{
				name:   name + ", unsigned and invalid JSON",
				by:     by,
				body:   "{",
				change: unsigned,
				status: http.StatusBadRequest,
				want:   invalidBody(),
			},
		})
	}
}

// severalSecrets rotates and revokes secrets while the node is running. The node accepts a new secret
// within a second and rejects a revoked secret immediately.
func severalSecrets(t *testing.T, n *node.Node) {
	p := n.NewPartner(t, "rotating", models.SigningRequired)
	older, err := n.Partners.Secrets(t.Context(), scope.System, p.Partner)
	if err != nil {
		t.Fatal(err)
	}
	newer, err := n.Partners.RotateSecret(t.Context(), scope.System, p.Partner, "", partners.DefaultOverlap, false)
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
		if err := n.Partners.RevokeSecret(t.Context(), scope.System, p.Partner, older[0].ID); err != nil {
			t.Fatal(err)
		}
		tx := n.Ping(t, p.Base(), node.MinimalPing).TransactionID
		if a := n.Post(t, p, node.WithTransaction(node.MinimalPost, tx)); a.Status != http.StatusUnauthorized {
			t.Errorf("revoked secret: got %d %s", a.Status, a.Body)
		}
	})
	n.Manual.Advance(partners.DefaultOverlap)
	n.Stores(t, node.OneLead, func() { n.Deliver(t, renewed, node.MinimalPost) })
	if err := n.Partners.SetStatus(t.Context(), scope.System, p.ID, models.PartnerSuspended); err != nil {
		t.Fatal(err)
	}
}
