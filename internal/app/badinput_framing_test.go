package app_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// badFraming sends requests whose end is in doubt: what one server takes for the
// body, another takes for the next request. The HTTP library refuses the most
// part of them by itself, an encoding that it does not know with 501.
func badFraming(t *testing.T, n *node) {
	framed := func(body string, lengths ...string) wire {
		return wire{path: "/api/lead/ping", length: strings.Join(lengths, "\r\n"), body: body}
	}
	incomplete := func(name string, w wire) badInput {
		return badInput{name: name, send: w, status: http.StatusRequestTimeout, want: refusal("Request Timeout")}
	}
	size := strconv.Itoa(len(leastPing))
	n.endure(t, []badInput{
		bare("two lengths that differ", framed(leastPing, "Content-Length: "+size, "Content-Length: 5"), http.StatusBadRequest),
		bare("two lengths in one line", framed(leastPing, "Content-Length: "+size+", 5"), http.StatusBadRequest),
		bare("a negative length", framed(leastPing, "Content-Length: -1"), http.StatusBadRequest),
		bare("a length with a plus sign", framed(leastPing, "Content-Length: +"+size), http.StatusBadRequest),
		bare("a length that is no number", framed(leastPing, "Content-Length: "+marker), http.StatusBadRequest),
		bare("a length that overflows", framed(leastPing, "Content-Length: 18446744073709551617"), http.StatusBadRequest),
		bare("an unknown transfer encoding", framed(leastPing, "Transfer-Encoding: gzip"), http.StatusNotImplemented),
		bare("chunked twice", framed(chunked(leastPing), "Transfer-Encoding: chunked, chunked"), http.StatusNotImplemented),
		bare("two transfer encodings", framed(chunked(leastPing), inChunks, "Transfer-Encoding: identity"), http.StatusNotImplemented),
		incomplete("a chunk size that is none", framed("zz\r\n"+leastPing+"\r\n0\r\n\r\n", inChunks)),
		incomplete("a negative chunk size", framed("-1\r\n"+leastPing+"\r\n0\r\n\r\n", inChunks)),
		incomplete("a chunk size that overflows", framed("fffffffffffffffff\r\n"+leastPing, inChunks)),
		incomplete("a chunk longer than its size", framed("5\r\n"+leastPing+"\r\n0\r\n\r\n", inChunks)),
		incomplete("a chunk size in a line without end", framed(strings.Repeat("0", 8<<10), inChunks)),
		invalidJSON("no length at all", framed("", "X-Nothing: 1")),
		priced("chunks", framed(chunked(leastPing[:7], leastPing[7:]), inChunks)),
		priced("chunks with extensions and a trailer", framed("10;a="+marker+"\r\n"+leastPing[:16]+"\r\n"+
			strconv.FormatInt(int64(len(leastPing)-16), 16)+"\r\n"+leastPing[16:]+"\r\n0\r\nX-Trailer: "+marker+"\r\n\r\n", inChunks)),
	})
	t.Run("a length and chunks", func(t *testing.T) { lengthAndChunks(t, n) })
	t.Run("bodies that break off", func(t *testing.T) { brokenOff(t, n) })
}

// lengthAndChunks sends both framings at once, the way that requests are
// smuggled past a proxy. The chunks alone count, and what follows them is the
// next request: two servers that hold to RFC 9112, 6.3, never differ on it.
func lengthAndChunks(t *testing.T, n *node) {
	for name, lengths := range map[string]string{
		"the length first": "Content-Length: 4\r\n" + inChunks,
		"the chunks first": inChunks + "\r\nContent-Length: 4",
	} {
		t.Run(name, func(t *testing.T) {
			n.stores(t, nothing, func() {
				w, next := wire{path: "/api/lead/ping", length: lengths, body: chunked(leastPing)}, wire{path: "/" + marker}
				l := n.dial(t)
				l.write(w.String() + next.String())
				if a := n.answered(t, l, w); a.status != http.StatusOK {
					t.Errorf("answered %d %s", a.status, a.body)
				}
				if a := n.answered(t, l, next); a.status != http.StatusNotFound {
					t.Errorf("what came after the chunks is answered %d %s", a.status, a.body)
				}
			})
			n.works(t)
		})
	}
}

// brokenOff hangs up in the middle of a signed post, and only stops sending in
// the middle of another: neither is half a lead.
func brokenOff(t *testing.T, n *node) {
	n.stores(t, nothing, func() {
		w := n.signedWire(n.required, n.freshPost(t, n.required)).String()
		gone := n.dial(t)
		gone.write(w[:len(w)-10])
		gone.Close()

		half := n.dial(t)
		half.write(w[:len(w)-10])
		if err := half.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if a := half.read(t, http.MethodPost); a.status != http.StatusRequestTimeout {
			t.Errorf("answered %d %s", a.status, a.body)
		}
	})
	n.works(t)
}

// badTargets sends request lines that are unusual or wrong.
func badTargets(t *testing.T, n *node) {
	target := func(path, requestLine string) wire { return wire{path: path, line: requestLine, body: leastPing} }
	notFound := func(name string, w wire) badInput {
		return badInput{name: name, send: w, status: http.StatusNotFound, want: refusal("Not Found")}
	}
	notPost := func(name string, w wire) badInput {
		return badInput{name: name, send: w, status: http.StatusMethodNotAllowed, want: refusal("Method Not Allowed")}
	}
	old := target("/api/lead/ping", "POST /api/lead/ping HTTP/1.0")
	n.endure(t, []badInput{
		priced("absolute-form", target("/api/lead/ping", "POST http://other.example/api/lead/ping HTTP/1.1")),
		notFound("absolute-form of another path", target("", "POST http://other.example/"+marker+" HTTP/1.1")),
		notFound("asterisk", target("", "POST * HTTP/1.1")),
		notFound("asterisk with OPTIONS", target("", "OPTIONS * HTTP/1.1")),
		notFound("authority-form", target("", "CONNECT leads.example:443 HTTP/1.1")),
		notPost("CONNECT to an endpoint", wire{method: "CONNECT", path: "/api/lead/ping", line: "CONNECT /api/lead/ping HTTP/1.1"}),
		notPost("a method of odd letters", target("/api/lead/ping", "!#$%&'*+-.^_`|~ /api/lead/ping HTTP/1.1")),
		bare("no target", target("", "POST  HTTP/1.1"), http.StatusBadRequest),
		bare("a target without a slash", target("", "POST api/lead/ping HTTP/1.1"), http.StatusBadRequest),
		bare("a blank in the target", target("", "POST /api/lead/ping x HTTP/1.1"), http.StatusBadRequest),
		bare("a bad escape in the target", target("", "POST /api/%zz HTTP/1.1"), http.StatusBadRequest),
		bare("NUL in the target", target("", "POST /api/lead/ping\x00 HTTP/1.1"), http.StatusBadRequest),
		bare("a method that is none", target("", "PO ST /api/lead/ping HTTP/1.1"), http.StatusBadRequest),
		bare("a method beyond ASCII", target("", "PÖST /api/lead/ping HTTP/1.1"), http.StatusBadRequest),
		bare("a version that is none", target("", "POST /api/lead/ping HTTP/1.x"), http.StatusBadRequest),
		bare("a version to come", target("", "POST /api/lead/ping HTTP/3.0"), http.StatusHTTPVersionNotSupported),
		bare("no HTTP at all", target("", "\x16\x03\x01\x02\x00\x01\x00"), http.StatusBadRequest),
		bare("two hosts", wire{body: leastPing, line: "POST /api/lead/ping HTTP/1.1", headers: []string{"Host: other.example"}}, http.StatusBadRequest),
		bare("a host that is none", wire{line: "POST /api/lead/ping HTTP/1.1\r\nHost: a b", length: "X-Nothing: 1"}, http.StatusBadRequest),
		priced("HTTP/1.0", old),
		notFound("a path that a browser would clean", target("", "POST /api/lead/../lead/ping HTTP/1.1")),
	})
	t.Run("HTTP/1.0 hangs up afterwards", func(t *testing.T) {
		l := n.dial(t)
		l.write(old.String() + old.String())
		n.answered(t, l, old)
		if second := l.read(t, http.MethodPost); second.status != 0 {
			t.Errorf("a second answer: %d", second.status)
		}
	})
}

// pipelined sends requests without waiting for the answers, which come in order.
func pipelined(t *testing.T, n *node) {
	good := n.signedWire(n.required, n.freshPost(t, n.required))
	wrong := n.signedWire(n.required, n.freshPost(t, n.required))
	wrong.body = strings.ReplaceAll(wrong.body, "true", "True")
	queue := []struct {
		send   wire
		status int
	}{
		{plain(leastPing), 200}, {plain("{"), 400}, {wrong, 401}, {good, 200}, {wire{path: "/api/lead/ping", line: "GET /api/lead/ping HTTP/1.1", method: "GET"}, 405},
		{wire{path: "/" + marker}, 404}, {good, 200}, {plain(leastPing), 200},
	}
	n.stores(t, oneLead, func() {
		l := n.dial(t)
		var all strings.Builder
		for _, q := range queue {
			all.WriteString(q.send.String())
		}
		l.write(all.String())
		for i, q := range queue {
			if a := n.answered(t, l, q.send); a.status != q.status {
				t.Fatalf("answer %d: %d %s, want %d", i+1, a.status, a.body, q.status)
			}
		}
	})
	n.works(t)
}
