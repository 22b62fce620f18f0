package app_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/signing"
)

// wire is a request as bytes on a connection: nothing mends it on the way.
type wire struct {
	method, path string // what the exchange is held against in the OpenAPI document
	line         string // the request line; POST, path and HTTP/1.1 when ""
	headers      []string
	length       string // the line of the body's length; that of body when ""
	body         string
}

func (w wire) String() string {
	if w.line == "" {
		w.line = "POST " + w.path + " HTTP/1.1"
	}
	if w.length == "" {
		w.length = "Content-Length: " + strconv.Itoa(len(w.body))
	}
	lines := append([]string{w.line, "Host: leads.example", w.length}, w.headers...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + w.body
}

// plain is a ping.
func plain(body string) wire { return wire{path: "/api/lead/ping", body: body} }

// wirePost is a post on a partner's own base URL with these headers alone.
func wirePost(p partner, body string, headers ...string) wire {
	return wire{path: p.base() + "/api/lead/post", headers: headers, body: body}
}

// signedWire is a post with a sound signature, so that what is wrong with it is
// only what the test makes wrong.
func (n *node) signedWire(p partner, body string) wire {
	ts := n.now()
	return wirePost(p, body, "X-Timestamp: "+ts, "X-Signature-SHA256: "+signing.Sign([]byte(p.secret), ts, []byte(body)))
}

// chunked is a body in chunks, the last of them included.
func chunked(chunks ...string) string {
	var b strings.Builder
	for _, c := range append(chunks, "") {
		b.WriteString(strconv.FormatInt(int64(len(c)), 16) + "\r\n" + c + "\r\n")
	}
	return b.String()
}

const inChunks = "Transfer-Encoding: chunked"

// line is a connection to the partner API.
type line struct {
	net.Conn
	in *bufio.Reader
}

// patience bounds every wait on a connection: a test that hangs says where.
const patience = 10 * time.Second

func (n *node) dial(t testing.TB) *line {
	t.Helper()
	conn, err := net.Dial("tcp", n.APIAddr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(clock.System{}.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &line{conn, bufio.NewReader(conn)}
}

// write sends bytes. The service may hang up before it has read them all, and
// then the answer tells.
func (l *line) write(text string) { _, _ = io.WriteString(l, text) }

// underWay sends all of a request but the end of its body, and returns that
// when the handler has begun to read: from then on the service has accepted it.
func (l *line) underWay(t testing.TB, w wire) (rest string) {
	t.Helper()
	w.headers = append(w.headers, "Expect: 100-continue")
	text := w.String()
	half := len(text) - len(w.body)/2
	l.write(text[:half])
	for _, want := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} {
		if got, err := l.in.ReadString('\n'); got != want {
			t.Fatalf("read %q, want %q: %v", got, want, err)
		}
	}
	return text[half:]
}

// read is the next answer; status 0 when the connection ended without one.
func (l *line) read(t testing.TB, method string) answer {
	t.Helper()
	resp, err := http.ReadResponse(l.in, &http.Request{Method: method})
	if err != nil {
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			t.Fatal("no answer")
		}
		return answer{}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal("half an answer:", err)
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: string(text)}
}

// exchange sends one request on a fresh connection and reads its answer.
func (n *node) exchange(t testing.TB, w wire) answer {
	t.Helper()
	l := n.dial(t)
	defer l.Close()
	l.write(w.String())
	return n.answered(t, l, w)
}

// answered reads an answer and, where it is the service's own and not the HTTP
// library's, holds it against the OpenAPI document.
func (n *node) answered(t testing.TB, l *line, w wire) answer {
	t.Helper()
	method := w.method
	if method == "" {
		method = http.MethodPost
	}
	a := l.read(t, method)
	n.repeatsNothing(t, a)
	if a.header.Get("X-Request-Id") != "" && w.path != "" {
		req := httptest.NewRequestWithContext(t.Context(), method, w.path, nil)
		n.note(t, req.URL.Path, a)
		asDocumented(t, req, "", a, false)
	}
	return a
}

// badInput is one request of the bad kind and what must come of it.
type badInput struct {
	name string
	send wire

	status int      // 0 when the connection just ends
	want   []string // parts of the answer's body
	bare   bool     // the HTTP library's own refusal, before any handler ran
	stored stored
}

// endure sends every row, checks what came of it, and that the next request on
// a fresh connection works.
func (n *node) endure(t *testing.T, rows []badInput) {
	t.Helper()
	for _, b := range rows {
		t.Run(b.name, func(t *testing.T) {
			n.stores(t, b.stored, func() { b.check(t, n.exchange(t, b.send)) })
			n.works(t)
		})
	}
}

func (b badInput) check(t *testing.T, a answer) {
	t.Helper()
	if a.status != b.status {
		t.Fatalf("answered %d, want %d: %s", a.status, b.status, a.body)
	}
	for _, part := range b.want {
		if !strings.Contains(a.body, part) {
			t.Errorf("the answer has not %s: %s", part, a.body)
		}
	}
	if own := a.header.Get("X-Request-Id") != ""; own == b.bare || b.bare && strings.Contains(a.body, "{") {
		t.Errorf("the service's own answer: %t, want %t: %v %s", own, !b.bare, a.header, a.body)
	}
}

// works fails the test unless a ping on a connection of its own is answered.
func (n *node) works(t testing.TB) {
	t.Helper()
	l := n.dial(t)
	defer l.Close()
	l.write(plain(leastPing).String())
	a := l.read(t, http.MethodPost)
	n.note(t, "/api/lead/ping", a)
	if a.status != http.StatusOK || !pricedBody.MatchString(a.body) {
		t.Errorf("the next request is answered %d %s", a.status, a.body)
	}
}

// The answers of bad input, to keep the tables readable.

func invalidJSON(name string, w wire) badInput {
	return badInput{name: name, send: w, status: http.StatusBadRequest, want: refusal("Invalid JSON payload")}
}

func invalidPayload(name string, w wire, entries ...string) badInput {
	return badInput{name: name, send: w, status: http.StatusBadRequest, want: append([]string{`payload","errors":[` + entries[0]}, entries...)}
}

func unauthorized(name string, w wire, message string) badInput {
	return badInput{name: name, send: w, status: http.StatusUnauthorized, want: refusal(message)}
}

func bare(name string, w wire, status int) badInput {
	return badInput{name: name, send: w, status: status, bare: true}
}

func priced(name string, w wire) badInput {
	return badInput{name: name, send: w, status: http.StatusOK, want: []string{`"accepted":true`}}
}

func accepted(name string, w wire) badInput {
	return badInput{name: name, send: w, status: http.StatusOK, want: []string{`"status":"success"`, `"hmacVerified":true`}, stored: oneLead}
}
