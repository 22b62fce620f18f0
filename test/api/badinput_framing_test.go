package api

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// badFraming sends requests whose end is ambiguous, so that two servers could interpret them
// differently. Go's HTTP server itself rejects most of them. If the transfer encoding is unknown, the
// status is 501.
func badFraming(t *testing.T, n *node.Node) {
	framed := func(body string, lengths ...string) node.RawRequest {
		return node.RawRequest{Path: "/api/lead/ping", Length: strings.Join(lengths, "\r\n"), Body: body}
	}
	incomplete := func(name string, w node.RawRequest) badInput {
		return badInput{name: name, send: w, status: http.StatusRequestTimeout, want: rejection(spec.RequestTimeout)}
	}
	size := strconv.Itoa(len(node.MinimalPing))
	sendBadInput(t, n, []badInput{
		bare("two different lengths", framed(node.MinimalPing, "Content-Length: "+size, "Content-Length: 5"),
			http.StatusBadRequest),
		bare("two lengths in one line", framed(node.MinimalPing, "Content-Length: "+size+", 5"), http.StatusBadRequest),
		bare("a negative length", framed(node.MinimalPing, "Content-Length: -1"), http.StatusBadRequest),
		bare("a length with a plus sign", framed(node.MinimalPing, "Content-Length: +"+size), http.StatusBadRequest),
		bare("a length that is not a number", framed(node.MinimalPing, "Content-Length: "+node.Marker), http.StatusBadRequest),
		bare("a length that overflows", framed(node.MinimalPing, "Content-Length: 18446744073709551617"), http.StatusBadRequest),
		bare("an unknown transfer encoding", framed(node.MinimalPing, "Transfer-Encoding: gzip"), http.StatusNotImplemented),
		bare("chunked twice", framed(chunked(node.MinimalPing), "Transfer-Encoding: chunked, chunked"),
			http.StatusNotImplemented),
		bare("two transfer encodings",
			framed(chunked(node.MinimalPing), chunkedEncoding, "Transfer-Encoding: identity"),
			http.StatusNotImplemented),
		incomplete("an invalid chunk size", framed("zz\r\n"+node.MinimalPing+"\r\n0\r\n\r\n", chunkedEncoding)),
		incomplete("a negative chunk size", framed("-1\r\n"+node.MinimalPing+"\r\n0\r\n\r\n", chunkedEncoding)),
		incomplete("a chunk size that overflows", framed("fffffffffffffffff\r\n"+node.MinimalPing, chunkedEncoding)),
		incomplete("a chunk longer than its size", framed("5\r\n"+node.MinimalPing+"\r\n0\r\n\r\n", chunkedEncoding)),
		incomplete("a chunk size whose line does not end", framed(strings.Repeat("0", 8<<10), chunkedEncoding)),
		invalidJSON("no length", framed("", "X-Nothing: 1")),
		priced("chunks", framed(chunked(node.MinimalPing[:7], node.MinimalPing[7:]), chunkedEncoding)),
		priced("chunks with extensions and a trailer", framed("10;a="+node.Marker+"\r\n"+node.MinimalPing[:16]+"\r\n"+
			strconv.FormatInt(int64(len(node.MinimalPing)-16), 16)+"\r\n"+node.MinimalPing[16:]+
			"\r\n0\r\nX-Trailer: "+node.Marker+"\r\n\r\n", chunkedEncoding)),
	})
	t.Run("a length and chunks", func(t *testing.T) { lengthAndChunks(t, n) })
	t.Run("incomplete bodies", func(t *testing.T) { incompletePosts(t, n) })
}

// lengthAndChunks sends a Content-Length together with a chunked body, as in request smuggling. As RFC
// 9112, section 6.3 requires, the service ignores the length and treats the data after the chunks as the
// next request.
func lengthAndChunks(t *testing.T, n *node.Node) {
	for name, lengths := range map[string]string{
		"the length first": "Content-Length: 4\r\n" + chunkedEncoding,
		"the chunks first": chunkedEncoding + "\r\nContent-Length: 4",
	} {
		t.Run(name, func(t *testing.T) {
			n.Stores(t, node.Nothing, func() {
				w, next := node.RawRequest{
					Path:   "/api/lead/ping",
					Length: lengths,
					Body:   chunked(node.MinimalPing),
				}, node.RawRequest{Path: "/" + node.Marker}
				l := n.Dial(t)
				l.Send(w.String() + next.String())
				if a := n.ReadAnswer(t, l, w); a.Status != http.StatusOK {
					t.Errorf("got %d %s", a.Status, a.Body)
				}
				if a := n.ReadAnswer(t, l, next); a.Status != http.StatusNotFound {
					t.Errorf("request after the chunks: got %d %s", a.Status, a.Body)
				}
			})
			n.CheckServes(t)
		})
	}
}

// incompletePosts disconnects in the middle of one signed post and stops sending in the middle of
// another. Neither is stored.
func incompletePosts(t *testing.T, n *node.Node) {
	n.Stores(t, node.Nothing, func() {
		w := n.RawSigned(n.Required, n.FreshPost(t, n.Required)).String()
		gone := n.Dial(t)
		gone.Send(w[:len(w)-10])
		gone.Close()

		half := n.Dial(t)
		half.Send(w[:len(w)-10])
		if err := half.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if a := half.Receive(t, http.MethodPost); a.Status != http.StatusRequestTimeout {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	n.CheckServes(t)
}

// badTargets sends unusual or invalid request lines.
func badTargets(t *testing.T, n *node.Node) {
	target := func(path, requestLine string) node.RawRequest {
		return node.RawRequest{Path: path, Line: requestLine, Body: node.MinimalPing}
	}
	notFound := func(name string, w node.RawRequest) badInput {
		return badInput{name: name, send: w, status: http.StatusNotFound, want: rejection(spec.NotFound)}
	}
	notPost := func(name string, w node.RawRequest) badInput {
		return badInput{name: name, send: w, status: http.StatusMethodNotAllowed, want: rejection(spec.MethodNotAllowed)}
	}
	old := target("/api/lead/ping", "POST /api/lead/ping HTTP/1.0")
	sendBadInput(t, n, []badInput{
		priced("absolute-form", target("/api/lead/ping", "POST http://other.example/api/lead/ping HTTP/1.1")),
		notFound("absolute-form of another path", target("", "POST http://other.example/"+node.Marker+" HTTP/1.1")),
		notFound("asterisk", target("", "POST * HTTP/1.1")),
		notFound("asterisk with OPTIONS", target("", "OPTIONS * HTTP/1.1")),
		notFound("authority-form", target("", "CONNECT leads.example:443 HTTP/1.1")),
		notPost("CONNECT to an endpoint", node.RawRequest{
			Method: "CONNECT",
			Path:   "/api/lead/ping",
			Line:   "CONNECT /api/lead/ping HTTP/1.1",
		}),
		notPost("a method with unusual characters", target("/api/lead/ping", "!#$%&'*+-.^_`|~ /api/lead/ping HTTP/1.1")),
		bare("no target", target("", "POST  HTTP/1.1"), http.StatusBadRequest),
		bare("a target without a slash", target("", "POST api/lead/ping HTTP/1.1"), http.StatusBadRequest),
		bare("a space in the target", target("", "POST /api/lead/ping x HTTP/1.1"), http.StatusBadRequest),
		bare("an invalid escape in the target", target("", "POST /api/%zz HTTP/1.1"), http.StatusBadRequest),
		bare("NUL in the target", target("", "POST /api/lead/ping\x00 HTTP/1.1"), http.StatusBadRequest),
		bare("an invalid method", target("", "PO ST /api/lead/ping HTTP/1.1"), http.StatusBadRequest),
		bare("a method with a non-ASCII letter", target("", "PÖST /api/lead/ping HTTP/1.1"), http.StatusBadRequest),
		bare("an invalid version", target("", "POST /api/lead/ping HTTP/1.x"), http.StatusBadRequest),
		bare("a later version", target("", "POST /api/lead/ping HTTP/3.0"), http.StatusHTTPVersionNotSupported),
		bare("not HTTP", target("", "\x16\x03\x01\x02\x00\x01\x00"), http.StatusBadRequest),
		bare("no host", target("", "POST /api/lead/ping HTTP/1.1\r\nContent-Length: 0\r\n\r\n"), http.StatusBadRequest),
		bare("an unknown expectation", node.RawRequest{
			Path:    "/api/lead/ping",
			Headers: []string{"Expect: " + node.Marker},
			Body:    node.MinimalPing,
		}, http.StatusExpectationFailed),
		bare("two hosts", node.RawRequest{
			Body:    node.MinimalPing,
			Line:    "POST /api/lead/ping HTTP/1.1",
			Headers: []string{"Host: other.example"},
		}, http.StatusBadRequest),
		bare("an invalid host", node.RawRequest{
			Line:   "POST /api/lead/ping HTTP/1.1\r\nHost: a b",
			Length: "X-Nothing: 1",
		}, http.StatusBadRequest),
		priced("HTTP/1.0", old),
		notFound("a path that a browser would normalise", target("", "POST /api/lead/../lead/ping HTTP/1.1")),
	})
	t.Run("HTTP/1.0 closes the connection", func(t *testing.T) {
		l := n.Dial(t)
		l.Send(old.String() + old.String())
		n.ReadAnswer(t, l, old)
		if second := l.Receive(t, http.MethodPost); second.Status != 0 {
			t.Errorf("got a second response: %d", second.Status)
		}
	})
}

// pipelined sends requests without waiting for the responses, which arrive in order.
func pipelined(t *testing.T, n *node.Node) {
	good := n.RawSigned(n.Required, n.FreshPost(t, n.Required))
	wrong := n.RawSigned(n.Required, n.FreshPost(t, n.Required))
	wrong.Body = strings.ReplaceAll(wrong.Body, "true", "True")
	queue := []struct {
		send   node.RawRequest
		status int
	}{
		{node.RawPing(node.MinimalPing), 200},
		{node.RawPing("{"), 400},
		{wrong, 401},
		{good, 200},
		{node.RawRequest{Path: "/api/lead/ping", Line: "GET /api/lead/ping HTTP/1.1", Method: "GET"}, 405},
		{node.RawRequest{Path: "/" + node.Marker}, 404},
		{good, 200},
		{node.RawPing(node.MinimalPing), 200},
	}
	n.Stores(t, node.OneLead, func() {
		l := n.Dial(t)
		var all strings.Builder
		for _, q := range queue {
			all.WriteString(q.send.String())
		}
		l.Send(all.String())
		for i, q := range queue {
			if a := n.ReadAnswer(t, l, q.send); a.Status != q.status {
				t.Fatalf("response %d: got %d %s, want %d", i+1, a.Status, a.Body, q.status)
			}
		}
	})
	n.CheckServes(t)
}
