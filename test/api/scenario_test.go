package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/test/node"
)

// away takes a header off a request.
func away(name string) func(*node.Request) { return func(r *node.Request) { r.SetHeader(name) } }

// with sets a header of a request, several times for several values.
func with(name string, values ...string) func(*node.Request) {
	return func(r *node.Request) { r.SetHeader(name, values...) }
}

// scenario is one exchange as a row of a table: what is sent, and all that must
// and must not come of it.
type scenario struct {
	name string

	// A post says who signs it: nobody when by is nil. It goes to its signer's
	// own base URL unless path says otherwise.
	by     func(*node.Node) node.Partner
	method string
	path   string
	// body is sent as it stands, with the transactionId of a ping made before,
	// on the same base URL, where it says $TX; wait passes between the two.
	body string
	wait time.Duration
	// change is made to the finished request, after it was signed.
	change []func(*node.Request)

	status int
	want   []string          // parts of the answer's body
	errors int               // entries of a refused payload; 0 for no such list
	not    []string          // what must not be in it
	header map[string]string // headers of the answer; "" for none
	stored node.Stored
}

func required(n *node.Node) node.Partner { return n.Required }

func reportOnly(n *node.Node) node.Partner { return n.ReportOnly }

func off(n *node.Node) node.Partner { return n.Off }

// play sends every row and checks what came of it.
func play(t *testing.T, n *node.Node, rows []scenario) {
	t.Helper()
	for _, s := range rows {
		t.Run(s.name, func(t *testing.T) {
			r := stage(t, n, s)
			n.Stores(t, s.stored, func() { s.check(t, n.Do(t, r)) })
		})
	}
}

// stage builds the request of a row.
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
		t.Fatalf("answered %d, want %d: %s", a.Status, s.status, a.Body)
	}
	for _, part := range s.want {
		if !strings.Contains(a.Body, part) {
			t.Errorf("the answer has not %s: %s", part, a.Body)
		}
	}
	for _, part := range s.not {
		if strings.Contains(a.Body, part) {
			t.Errorf("the answer has %s: %s", part, a.Body)
		}
	}
	if got := strings.Count(a.Body, `{"code":"`); got != s.errors {
		t.Errorf("%d problems, want %d: %s", got, s.errors, a.Body)
	}
	for name, value := range s.header {
		if got := a.Header.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	if a.Status >= http.StatusBadRequest && s.method != http.MethodHead && !strings.HasPrefix(a.Body, `{"ok":false,"message":"`) {
		t.Errorf("a refusal without ok: false and a message: %s", a.Body)
	}
}

// refusal is the whole answer of a refusal that has nothing but its message.
func rejection(message string) []string { return []string{`{"ok":false,"message":"` + message + `"}`} }
