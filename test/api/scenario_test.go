package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// without removes a header from a request.
func without(name string) func(*node.Request) { return func(r *node.Request) { r.SetHeader(name) } }

// with sets a header in a request. If there are several values, the header is repeated.
func with(name string, values ...string) func(*node.Request) {
	return func(r *node.Request) { r.SetHeader(name, values...) }
}

// scenario is a request and its expected result.
type scenario struct {
	name string

	// by is the partner that signs the post, or nil for an unsigned post. The post is sent to the
	// partner's own base URL unless path is set.
	by     func(*node.Node) node.Partner
	method string
	path   string
	// body is the body of the request. $TX in it is replaced by the transactionId from a ping on the same
	// base URL. wait is the time between the ping and the request.
	body string
	wait time.Duration
	// change modifies the request after it has been signed.
	change []func(*node.Request)

	status int
	want   []string          // texts that the response's body must contain
	errors int               // number of entries in errors; 0 if absent
	not    []string          // texts that the response's body must not contain
	header map[string]string // the values of the response's headers; "" for a header that must be absent
	stored node.Stored
}

func required(n *node.Node) node.Partner { return n.Required }

func reportOnly(n *node.Node) node.Partner { return n.ReportOnly }

func off(n *node.Node) node.Partner { return n.Off }

// play sends the request of every scenario and checks the result.
func play(t *testing.T, n *node.Node, rows []scenario) {
	t.Helper()
	for _, s := range rows {
		t.Run(s.name, func(t *testing.T) {
			r := stage(t, n, s)
			n.Stores(t, s.stored, func() { s.check(t, n.Do(t, r)) })
		})
	}
}

// stage creates the request for a scenario.
func stage(t *testing.T, n *node.Node, s scenario) node.Request {
	t.Helper()
	r := node.Request{Method: s.method, Path: s.path, Body: s.body}
	if r.Path == "" {
		r.Path = s.by(n).Base() + "/api/lead/post"
	}
	if strings.Contains(s.body, "$TX") {
		base, _, _ := strings.Cut(r.Path, "/api/")
		r.Body = node.WithTransaction(s.body, n.Ping(t, base, node.MinimalPing).TransactionID)
		n.Manual.Advance(s.wait)
	}
	if s.by != nil {
		n.Sign(&r, s.by(n))
	}
	for _, change := range s.change {
		change(&r)
	}
	return r
}

func (s scenario) check(t *testing.T, a node.Answer) {
	t.Helper()
	if a.Status != s.status {
		t.Fatalf("got %d, want %d: %s", a.Status, s.status, a.Body)
	}
	for _, part := range s.want {
		if !strings.Contains(a.Rejection(), part) {
			t.Errorf("the response does not contain %s: %s", part, a.Body)
		}
	}
	for _, part := range s.not {
		if strings.Contains(a.Body, part) {
			t.Errorf("the response contains %s: %s", part, a.Body)
		}
	}
	if got := strings.Count(a.Body, `{"code":"`); got != s.errors {
		t.Errorf("got %d errors, want %d: %s", got, s.errors, a.Body)
	}
	for name, value := range s.header {
		if got := a.Header.Get(name); got != value {
			t.Errorf("%s: got %q, want %q", name, got, value)
		}
	}
	if a.Status >= http.StatusBadRequest && s.method != http.MethodHead && !strings.HasPrefix(a.Body, `{"ok":false,"message":"`) {
		t.Errorf("the rejection does not start with ok: false and a message: %s", a.Body)
	}
}

// rejection returns the body of a rejection without fields of its own.
func rejection(r spec.Rejection) []string { return []string{r.Body()} }

// invalidBody returns the start of the rejection of a body that is not valid JSON.
func invalidBody() []string { return []string{spec.InvalidJSON.Start() + `,"detail":{"reason":"`} }
