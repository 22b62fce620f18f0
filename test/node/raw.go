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

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/signing"
)

// RawRequest is a request as bytes on a connection: nothing corrects it on the way.
type RawRequest struct {
	Method, Path string // what the exchange is held against in the OpenAPI document
	Line         string // the request line; POST, path and HTTP/1.1 when ""
	Headers      []string
	Length       string // the line of the body's length; that of body when ""
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

// RawPing is a ping.
func RawPing(body string) RawRequest { return RawRequest{Path: "/api/lead/ping", Body: body} }

// RawPost is a post on a partner's own base URL with these headers alone.
func RawPost(p Partner, body string, headers ...string) RawRequest {
	return RawRequest{Path: p.Base() + "/api/lead/post", Headers: headers, Body: body}
}

// RawSigned is a post with a sound signature, so that what is wrong with it is
// only what the test makes wrong.
func (n *Node) RawSigned(p Partner, body string) RawRequest {
	ts := n.Now()
	return RawPost(p, body, "X-Timestamp: "+ts, "X-Signature-SHA256: "+signing.Sign([]byte(p.Secret), ts, []byte(body)))
}

// Connection is a connection to the partner API.
type Connection struct {
	net.Conn
	In *bufio.Reader
}

// Patience bounds every wait on a connection: a test that hangs says where.
const Patience = 10 * time.Second

// Dial opens one that the test closes, at the latest when it ends.
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

// Send sends bytes. The service may hang up before it has read them all, and
// then the answer tells.
func (l *Connection) Send(text string) { _, _ = io.WriteString(l, text) }

// Receive is the next answer; status 0 when the connection ended without one.
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
		t.Fatal("half an answer:", err)
	}
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}
}

// ReadAnswer reads an answer and, where it is the service's own and not the HTTP
// library's, holds it against the OpenAPI document.
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

// CheckServes fails the test unless a ping on a connection of its own is answered.
func (n *Node) CheckServes(t testing.TB) {
	t.Helper()
	l := n.Dial(t)
	defer l.Close()
	l.Send(RawPing(MinimalPing).String())
	a := l.Receive(t, http.MethodPost)
	n.Record(t, "/api/lead/ping", a)
	if a.Status != http.StatusOK || !PricedBody.MatchString(a.Body) {
		t.Errorf("the next request is answered %d %s", a.Status, a.Body)
	}
}
