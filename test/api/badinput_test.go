package api

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// TestBadInput sends raw requests that no client library would send. Each must get the error in the
// specification, or the error from Go's HTTP server if that server rejects the request before any
// handler runs. No request may store anything or affect other requests.
func TestBadInput(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *node.Node)
	}{
		{"Headers", badHeaders},
		{"Timestamps", badTimestamps},
		{"Signatures", badSignatures},
		{"JSON", badJSON},
		{"Types", badTypes},
		{"Sizes", badSizes},
		{"Framing", badFraming},
		{"Targets", badTargets},
		{"Pipelined", pipelined},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, n) })
	}
	n.CheckNoPersonalData(t)
}

func badHeaders(t *testing.T, n *node.Node) {
	body, ts := n.FreshPost(t, n.Required), n.Now()
	signature := signing.Sign([]byte(n.Required.Secret), ts, []byte(body))
	send := func(headers ...string) node.RawRequest { return node.RawPost(n.Required, body, headers...) }
	sendBadInput(t, n, []badInput{
		unauthorized("two signatures",
			send("X-Timestamp: "+ts, "X-Signature-SHA256: "+signature, "X-Signature-SHA256: "+signature),
			spec.MalformedSignature),
		unauthorized("two signatures in other letter cases",
			send("X-Timestamp: "+ts, "x-signature-sha256: "+signature, "X-SIGNATURE-SHA256: "+signature),
			spec.MalformedSignature),
		unauthorized("two aliases", send("X-Timestamp: "+ts, "X-Signature: "+signature, "X-Signature: "+signature),
			spec.MalformedSignature),
		unauthorized("two signatures in one line",
			send("X-Timestamp: "+ts, "X-Signature-SHA256: "+signature+", "+signature), spec.MalformedSignature),
		unauthorized("two names with different values",
			send("X-Timestamp: "+ts, "X-Signature-SHA256: "+signature, "X-Signature: "+swap(signature, 0)),
			spec.MalformedSignature),
		unauthorized("two timestamps", send("X-Timestamp: "+ts, "X-Timestamp: "+ts, "X-Signature-SHA256: "+signature),
			spec.TimestampFormat),
		unauthorized("two timestamps in one line", send("X-Timestamp: "+ts+","+ts, "X-Signature-SHA256: "+signature),
			spec.TimestampFormat),
		unauthorized("a timestamp folded onto two lines",
			send("X-Timestamp: "+ts[:5]+"\r\n "+ts[5:], "X-Signature-SHA256: "+signature), spec.TimestampFormat),
		unauthorized("a signature folded onto two lines",
			send("X-Timestamp: "+ts, "X-Signature-SHA256: "+signature[:32]+"\r\n\t"+signature[32:]), spec.MalformedSignature),
		unauthorized("digits from another script",
			send("X-Timestamp: "+strings.ReplaceAll(ts, "1", "１"), "X-Signature-SHA256: "+signature),
			spec.TimestampFormat),
		unauthorized("a no-break space", send("X-Timestamp: \u00a0"+ts, "X-Signature-SHA256: "+signature), spec.TimestampFormat),
		unauthorized("a signature with a non-ASCII letter", send("X-Timestamp: "+ts, "X-Signature-SHA256: "+signature[:63]+"é"),
			spec.MalformedSignature),
		unauthorized("invalid UTF-8", send("X-Timestamp: "+ts, "X-Signature-SHA256: "+signature[:63]+"\xff"),
			spec.MalformedSignature),
		unauthorized("underscores instead of hyphens", send("X-Timestamp: "+ts, "X_Signature_SHA256: "+signature),
			spec.SignatureMissing),
		unauthorized("headers after the body",
			node.RawPost(n.Required, body+"X-Timestamp: "+ts+"\r\nX-Signature-SHA256: "+signature+"\r\n"),
			spec.SignatureMissing),
		bare("a name with a non-ASCII letter", send("X-Tïmestamp: "+ts, "X-Signature-SHA256: "+signature), http.StatusBadRequest),
		bare("a space before the colon", send("X-Timestamp : "+ts, "X-Signature-SHA256: "+signature), http.StatusBadRequest),
		bare("a line without a colon", send("X-Timestamp: "+ts, node.Marker), http.StatusBadRequest),
		bare("NUL in a value", send("X-Timestamp: "+ts+"\x00", "X-Signature-SHA256: "+signature), http.StatusBadRequest),
		bare("NUL in a name", send("X-Time\x00stamp: "+ts), http.StatusBadRequest),
		bare("a carriage return in a value", send("X-Timestamp: "+ts+"\rX-Signature-SHA256: "+signature), http.StatusBadRequest),
		bare("a header of 20 KiB", send("X-Timestamp: "+ts, "X-Filler: "+strings.Repeat("x", 20<<10)),
			http.StatusRequestHeaderFieldsTooLarge),
		bare("20 KiB of headers", send(strings.Split(strings.Repeat("X-Filler: 0123456789\n", 1000), "\n")[:999]...),
			http.StatusRequestHeaderFieldsTooLarge),
		accepted("white space around both values", send("X-Timestamp: \t "+ts+" \t", "X-Signature-SHA256:   "+signature+"\t")),
	})
	// A line break before the value counts as white space (RFC 9112, section 5.2).
	folded := n.FreshPost(t, n.Required)
	sendBadInput(t, n, []badInput{accepted("a value on the next line",
		node.RawPost(n.Required, folded, "X-Timestamp:\r\n "+ts,
			"X-Signature-SHA256:\r\n "+signing.Sign([]byte(n.Required.Secret), ts, []byte(folded))))})
}

func badTimestamps(t *testing.T, n *node.Node) {
	at := func(timestamp string) node.RawRequest {
		body := n.FreshPost(t, n.Required)
		return node.RawPost(n.Required, body, "X-Timestamp: "+timestamp,
			"X-Signature-SHA256: "+signing.Sign([]byte(n.Required.Secret), timestamp, []byte(body)))
	}
	now := n.Now()
	sendBadInput(t, n, []badInput{
		unauthorized("negative", at("-"+now), spec.TimestampFormat),
		unauthorized("a plus sign", at("+"+now), spec.TimestampFormat),
		unauthorized("empty", at(""), spec.TimestampFormat),
		unauthorized("a word", at(node.Marker), spec.TimestampFormat),
		unauthorized("a fraction", at(now+".5"), spec.TimestampFormat),
		unauthorized("an exponent", at("1767e6"), spec.TimestampFormat),
		unauthorized("a space inside", at(now[:4]+" "+now[4:]), spec.TimestampFormat),
		unauthorized("an underscore inside", at(now[:4]+"_"+now[4:]), spec.TimestampFormat),
		unauthorized("zero", at("0"), spec.TimestampWindow),
		unauthorized("milliseconds", at(now+"000"), spec.TimestampWindow),
		unauthorized("2^63", at("9223372036854775808"), spec.TimestampWindow),
		unauthorized("now plus 2^64", at("18446744075476872061"), spec.TimestampWindow),
		unauthorized("400 digits", at(strings.Repeat("9", 400)), spec.TimestampWindow),
		unauthorized("301 s late", at(n.NowPlus(-301)), spec.TimestampWindow),
		unauthorized("301 s early", at(n.NowPlus(301)), spec.TimestampWindow),
		accepted("300 s late", at(n.NowPlus(-300))),
		accepted("300 s early", at(n.NowPlus(300))),
		accepted("leading zeros", at("0000000000000000000000"+now)),
	})
}

func badSignatures(t *testing.T, n *node.Node) {
	ts := n.Now()
	signed := func(change func(signature string) string) node.RawRequest {
		body := n.FreshPost(t, n.Required)
		return node.RawPost(n.Required, body, "X-Timestamp: "+ts,
			"X-Signature-SHA256: "+change(signing.Sign([]byte(n.Required.Secret), ts, []byte(body))))
	}
	rewritten := n.RawSigned(n.Required, n.FreshPost(t, n.Required))
	rewritten.Body = strings.ReplaceAll(rewritten.Body, `":`, `": `)
	reordered := n.RawSigned(n.Required, n.FreshPost(t, n.Required))
	inner := strings.TrimSuffix(strings.TrimPrefix(reordered.Body, "{"), `,"consent":{"acknowledged":true}}`)
	reordered.Body = `{"consent":{"acknowledged":true},` + inner + `}`
	escaped := n.RawSigned(n.Required, n.FreshPost(t, n.Required))
	escaped.Body = strings.Replace(escaped.Body, "@", `\u0040`, 1)
	sendBadInput(t, n, []badInput{
		unauthorized("serialised again with spaces", rewritten, spec.BadSignature),
		unauthorized("serialised again in another order", reordered, spec.BadSignature),
		unauthorized("serialised again with an escape", escaped, spec.BadSignature),
		unauthorized("too short", signed(func(s string) string { return s[:62] }), spec.MalformedSignature),
		unauthorized("too long", signed(func(s string) string { return s + s }), spec.MalformedSignature),
		unauthorized("an odd number of digits", signed(func(s string) string { return s[:63] }), spec.MalformedSignature),
		unauthorized("prefixed", signed(func(s string) string { return "sha256=" + s }), spec.MalformedSignature),
		unauthorized("prefixed with 0x", signed(func(s string) string { return "0x" + s }), spec.MalformedSignature),
		unauthorized("quoted", signed(func(s string) string { return `"` + s + `"` }), spec.MalformedSignature),
		unauthorized("with a colon", signed(func(s string) string { return s[:2] + ":" + s[3:] }), spec.MalformedSignature),
		unauthorized("empty", signed(func(string) string { return "" }), spec.MalformedSignature),
		accepted("in upper case", signed(strings.ToUpper)),
		accepted("in mixed case", signed(func(s string) string { return strings.ToUpper(s[:32]) + s[32:] })),
	})
}

func badSizes(t *testing.T, n *node.Node) {
	const limit = 64 << 10
	filled := func(body string, size int) string {
		return strings.Replace(body, "{", `{"filler":"`+strings.Repeat("x", size-len(body)-len(`"filler":"",`))+`",`, 1)
	}
	tooLarge := func(name string, w node.RawRequest) badInput {
		return badInput{
			name:   name,
			send:   w,
			status: http.StatusRequestEntityTooLarge,
			want:   rejection(spec.PayloadTooLarge),
		}
	}
	inPieces := func(w node.RawRequest) node.RawRequest {
		third := len(w.Body) / 3
		w.Length, w.Body = chunkedEncoding, chunked(w.Body[:third], w.Body[third:2*third], w.Body[2*third:])
		return w
	}
	endless := node.RawPing("{}")
	endless.Length = "Content-Length: 9223372036854775807"
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(node.MinimalPing))
	_ = z.Close()
	compressed := node.RawPing(zipped.String())
	compressed.Headers = []string{"Content-Encoding: gzip"}
	sendBadInput(t, n, []badInput{
		priced("ping of 64 KiB", node.RawPing(filled(node.MinimalPing, limit))),
		priced("ping of 64 KiB in chunks", inPieces(node.RawPing(filled(node.MinimalPing, limit)))),
		accepted("post of 64 KiB", n.RawSigned(n.Required, filled(n.FreshPost(t, n.Required), limit))),
		accepted("post of 64 KiB in chunks", inPieces(n.RawSigned(n.Required, filled(n.FreshPost(t, n.Required), limit)))),
		tooLarge("ping of 64 KiB and 1 byte", node.RawPing(filled(node.MinimalPing, limit+1))),
		tooLarge("ping of 64 KiB and 1 byte in chunks", inPieces(node.RawPing(filled(node.MinimalPing, limit+1)))),
		tooLarge("post of 64 KiB and 1 byte", n.RawSigned(n.Required, filled(n.FreshPost(t, n.Required), limit+1))),
		tooLarge("post of 64 KiB and 1 byte in chunks", inPieces(n.RawSigned(n.Required, filled(n.FreshPost(t, n.Required), limit+1)))),
		tooLarge("spaces after the object", node.RawPing(node.MinimalPing+strings.Repeat(" ", limit))),
		tooLarge("the largest possible length", endless),
		invalidJSON("gzip", compressed),
		invalidJSON("gzip without Content-Encoding", node.RawPing(zipped.String())),
		invalidJSON("signed gzip", n.RawSigned(n.Off, zipped.String())),
	})
}
