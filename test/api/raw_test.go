package api

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// chunked encodes a body as chunks, including the final empty chunk.
func chunked(chunks ...string) string {
	var b strings.Builder
	for _, c := range append(chunks, "") {
		b.WriteString(strconv.FormatInt(int64(len(c)), 16) + "\r\n" + c + "\r\n")
	}
	return b.String()
}

const chunkedEncoding = "Transfer-Encoding: chunked"

// exchange sends one request on a new connection and reads its response.
func exchange(t testing.TB, n *node.Node, w node.RawRequest) node.Answer {
	t.Helper()
	l := n.Dial(t)
	defer l.Close()
	l.Send(w.String())
	return n.ReadAnswer(t, l, w)
}

// badInput is one invalid request and its expected result.
type badInput struct {
	name string
	send node.RawRequest

	status int      // 0 if the connection is closed without a response
	want   []string // texts that the response's body must contain
	bare   bool     // Go's HTTP server rejects the request before any handler runs
	stored node.Stored
}

// sendBadInput sends each request and checks the result. It then checks that the service still answers
// on a new connection.
func sendBadInput(t *testing.T, n *node.Node, rows []badInput) {
	t.Helper()
	for _, b := range rows {
		t.Run(b.name, func(t *testing.T) {
			n.Stores(t, b.stored, func() { b.check(t, exchange(t, n, b.send)) })
			n.CheckServes(t)
		})
	}
}

func (b badInput) check(t *testing.T, a node.Answer) {
	t.Helper()
	if a.Status != b.status {
		t.Fatalf("got %d, want %d: %s", a.Status, b.status, a.Body)
	}
	for _, part := range b.want {
		if !strings.Contains(a.Rejection(), part) {
			t.Errorf("the response does not contain %s: %s", part, a.Body)
		}
	}
	if own := a.Header.Get("X-Request-Id") != ""; own == b.bare || b.bare && strings.Contains(a.Body, "{") {
		t.Errorf("response is from the service: %t, want %t: %v %s", own, !b.bare, a.Header, a.Body)
	}
}

// The expected responses to bad input.

func invalidJSON(name string, w node.RawRequest) badInput {
	return badInput{name: name, send: w, status: http.StatusBadRequest, want: invalidBody()}
}

func invalidPayload(name string, w node.RawRequest, entries ...string) badInput {
	return badInput{
		name:   name,
		send:   w,
		status: http.StatusBadRequest,
		want:   append([]string{`payload","code":"payload_invalid","errors":[` + entries[0]}, entries...),
	}
}

func unauthorized(name string, w node.RawRequest, r spec.Rejection) badInput {
	return badInput{name: name, send: w, status: http.StatusUnauthorized, want: rejection(r)}
}

func bare(name string, w node.RawRequest, status int) badInput {
	return badInput{name: name, send: w, status: status, bare: true}
}

func priced(name string, w node.RawRequest) badInput {
	return badInput{name: name, send: w, status: http.StatusOK, want: []string{`"accepted":true`}}
}

func accepted(name string, w node.RawRequest) badInput {
	return badInput{
		name:   name,
		send:   w,
		status: http.StatusOK,
		want:   []string{`"status":"success"`, `"hmacVerified":true`},
		stored: node.OneLead,
	}
}
