package node

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

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/protocol/signing"
)

// RawRequest is a request that is written directly to a connection, so that no HTTP library corrects it.
type RawRequest struct {
	Method, Path string // identify the operation in the OpenAPI document
	Line         string // the request line; "" for a POST to Path
	Headers      []string
	Length       string // the header that states the body's length; "" for the correct Content-Length
	Body         string
}

func (w RawRequest) String() string {
	if w.Line == "" {
		w.Line = "POST " + w.Path + " HTTP/1.1"
	}
	if w.Length == "" {
		w.Length = "Content-Length: " + strconv.Itoa(len(w.Body))
	}
	lines := append([]string{w.Line, "Host: leads.example", w.Length}, w.Headers...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + w.Body
}

// RawPing returns a ping to the shared base URL.
func RawPing(body string) RawRequest { return RawRequest{Path: "/api/lead/ping", Body: body} }

// RawPost returns a post to a partner's own base URL. Apart from Host and Content-Length, it has only
// the given headers.
func RawPost(p Partner, body string, headers ...string) RawRequest {
	return RawRequest{Path: p.Base() + "/api/lead/post", Headers: headers, Body: body}
}

// RawSigned returns a post with a valid signature, so that the service can reject it only for another
// reason.
func (n *Node) RawSigned(p Partner, body string) RawRequest {
	ts := n.Now()
	return RawPost(p, body, "X-Timestamp: "+ts, "X-Signature-SHA256: "+signing.Sign([]byte(p.Secret), ts, []byte(body)))
}

// Connection is a network connection to the partner API, for sending requests as raw text.
type Connection struct {
	net.Conn
	In *bufio.Reader
}

// Patience limits how long a test may use one connection or wait for readiness. Instead of hanging, the
// test fails and shows where it waited.
const Patience = 3 * time.Minute

// Dial opens a connection, which is closed when the test ends.
func (n *Node) Dial(t testing.TB) *Connection {
	t.Helper()
	conn, err := net.Dial("tcp", n.APIAddr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(clock.System{}.Now().Add(Patience)); err != nil {
		t.Fatal(err)
	}
	return &Connection{conn, bufio.NewReader(conn)}
}

// Send sends text. It ignores errors, because the service may already have closed the connection.
func (l *Connection) Send(text string) { _, _ = io.WriteString(l, text) }

// Receive reads the next response. The status of the result is 0 if the connection was closed before a
// response arrived.
func (l *Connection) Receive(t testing.TB, method string) Answer {
	t.Helper()
	resp, err := http.ReadResponse(l.In, &http.Request{Method: method})
	if err != nil {
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			t.Fatal("no answer")
		}
		return Answer{}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal("incomplete answer:", err)
	}
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}
}

// ReadAnswer reads a response. It checks the response against the OpenAPI document unless Go's HTTP
// server rejected the request before the service saw it.
func (n *Node) ReadAnswer(t testing.TB, l *Connection, w RawRequest) Answer {
	t.Helper()
	method := w.Method
	if method == "" {
		method = http.MethodPost
	}
	a := l.Receive(t, method)
	n.checkRepeatsNothing(t, a)
	if a.Header.Get("X-Request-Id") != "" && w.Path != "" {
		req := httptest.NewRequestWithContext(t.Context(), method, w.Path, nil)
		n.Record(t, req.URL.Path, a)
		asDocumented(t, req, "", a, false)
	}
	return a
}

// CheckServes fails the test unless a ping on a new connection receives a price.
func (n *Node) CheckServes(t testing.TB) {
	t.Helper()
	l := n.Dial(t)
	defer l.Close()
	l.Send(RawPing(MinimalPing).String())
	a := l.Receive(t, http.MethodPost)
	n.Record(t, "/api/lead/ping", a)
	if a.Status != http.StatusOK || !PricedBody.MatchString(a.Body) {
		t.Errorf("next request: got status %d, %s", a.Status, a.Body)
	}
}
