package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// scenario is one exchange as a row of a table: what is sent, and all that must
// and must not come of it.
type scenario struct {
	name string

	// A post says who signs it: nobody when by is nil. It goes to its signer's
	// own base URL unless path says otherwise.
	by     func(*node) partner
	method string
	path   string
	// body is sent as it stands, with the transactionId of a ping made before,
	// on the same base URL, where it says $TX; wait passes between the two.
	body string
	wait time.Duration
	// change is made to the finished request, after it was signed.
	change []func(*request)

	status int
	want   []string          // parts of the answer's body
	errors int               // entries of a refused payload; 0 for no such list
	not    []string          // what must not be in it
	header map[string]string // headers of the answer; "" for none
	stored stored
}

func required(n *node) partner   { return n.required }
func reportOnly(n *node) partner { return n.reportOnly }
func off(n *node) partner        { return n.off }

// play sends every row and checks what came of it.
func (n *node) play(t *testing.T, rows []scenario) {
	t.Helper()
	for _, s := range rows {
		t.Run(s.name, func(t *testing.T) {
			r := n.stage(t, s)
			n.stores(t, s.stored, func() { s.check(t, n.do(t, r)) })
		})
	}
}

// stage builds the request of a row.
func (n *node) stage(t *testing.T, s scenario) request {
	t.Helper()
	r := request{method: s.method, path: s.path, body: s.body}
	if r.path == "" {
		r.path = s.by(n).base() + "/api/lead/post"
	}
	if strings.Contains(s.body, "$TX") {
		base, _, _ := strings.Cut(r.path, "/api/")
		r.body = withTransaction(s.body, n.ping(t, base, leastPing).TransactionID)
		n.hands.Advance(s.wait)
	}
	if s.by != nil {
		n.sign(&r, s.by(n))
	}
	for _, change := range s.change {
		change(&r)
	}
	return r
}

func (s scenario) check(t *testing.T, a answer) {
	t.Helper()
	if a.status != s.status {
		t.Fatalf("answered %d, want %d: %s", a.status, s.status, a.body)
	}
	for _, part := range s.want {
		if !strings.Contains(a.body, part) {
			t.Errorf("the answer has not %s: %s", part, a.body)
		}
	}
	for _, part := range s.not {
		if strings.Contains(a.body, part) {
			t.Errorf("the answer has %s: %s", part, a.body)
		}
	}
	if got := strings.Count(a.body, `{"code":"`); got != s.errors {
		t.Errorf("%d problems, want %d: %s", got, s.errors, a.body)
	}
	for name, value := range s.header {
		if got := a.header.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	if a.status >= http.StatusBadRequest && s.method != http.MethodHead && !strings.HasPrefix(a.body, `{"ok":false,"message":"`) {
		t.Errorf("a refusal without ok: false and a message: %s", a.body)
	}
}

// refusal is the whole answer of a refusal that has nothing but its message.
func refusal(message string) []string { return []string{`{"ok":false,"message":"` + message + `"}`} }
