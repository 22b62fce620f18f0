package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/signing"
)

// request is what a test sends: a POST with these headers and no others, apart
// from a telltale User-Agent.
type request struct {
	method string // POST when ""
	path   string
	header http.Header
	body   string
}

// set replaces a header's values; none takes it away.
func (r *request) set(name string, values ...string) {
	if r.header == nil {
		r.header = http.Header{}
	}
	r.header[http.CanonicalHeaderKey(name)] = values
	if len(values) == 0 {
		r.header.Del(name)
	}
}

// answer is a response, read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request and holds the exchange against the OpenAPI document.
func (n *node) do(t testing.TB, r request) answer {
	t.Helper()
	req, a := n.send(t, r)
	n.examine(t, req, r.body, a)
	return a
}

// send sends a request and reads the answer. Redirects are not followed.
func (n *node) send(t testing.TB, r request) (*http.Request, answer) {
	t.Helper()
	method := r.method
	if method == "" {
		method = http.MethodPost
	}
	var body io.Reader
	if r.body != "" {
		body = strings.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, n.api+r.path, body)
	if err != nil {
		t.Fatal(err)
	}
	if r.header != nil {
		req.Header = r.header.Clone()
	}
	req.Header.Set("User-Agent", marker+"/1.0")
	resp, err := n.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: resp.StatusCode, header: resp.Header, body: string(text)}
	n.note(t, req.URL.Path, a)
	return req, a
}

// note keeps what answers have to be compared with: each has an id of its own,
// and the pings among them are counted.
func (n *node) note(t testing.TB, path string, a answer) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if id := a.header.Get("X-Request-Id"); n.ids[id] {
		t.Errorf("the request id %s was there before", id)
	} else {
		n.ids[id] = true
	}
	if a.status == http.StatusOK && strings.HasSuffix(path, "/api/lead/ping") {
		n.priced++
	}
}

// examine checks what holds for every answer: it is as the OpenAPI document
// says, a request that was accepted is as well, it redirects nowhere, and a
// refusal repeats nothing of what was sent.
func (n *node) examine(t testing.TB, req *http.Request, body string, a answer) {
	t.Helper()
	asDocumented(t, req, body, a, a.status == http.StatusOK)
	if to := a.header.Get("Location"); to != "" {
		t.Errorf("redirected to %s", to)
	}
	if a.status != http.StatusOK {
		n.repeatsNothing(t, a)
	}
}

// quoted is a ping's answer.
type quoted struct {
	Accepted      bool
	BidPrice      json.Number
	Currency      string
	TransactionID string
	ExpiresAt     time.Time
	Reason        string
}

// delivered is a post's answer.
type delivered struct {
	Status        string
	LeadID        string
	Payout        json.Number
	TransactionID string
	HMACVerified  bool
	Envelope      struct{ PIICiphertext, WrappedDEK, IV, AuthTag []byte }
}

// decode reads an answer's body; the test ends when it was not a 200.
func decode[T any](t testing.TB, a answer) T {
	t.Helper()
	if a.status != http.StatusOK {
		t.Fatalf("answered %d: %s", a.status, a.body)
	}
	var v T
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

const leastPing = `{"industry":"plumber","postcode":"SW1A 1AA"}`

// ping asks for a price on a base URL: a partner's base() or "", the shared one.
func (n *node) ping(t testing.TB, base, body string) quoted {
	t.Helper()
	return decode[quoted](t, n.do(t, request{path: base + "/api/lead/ping", body: body}))
}

// post delivers a lead for a partner, on its own base URL, signed now.
func (n *node) post(t testing.TB, p partner, body string) answer {
	t.Helper()
	return n.do(t, n.signed(p, body))
}

// deliver is a ping and its post, which must succeed.
func (n *node) deliver(t testing.TB, p partner, body string) delivered {
	t.Helper()
	tx := n.ping(t, p.base(), leastPing).TransactionID
	return decode[delivered](t, n.post(t, p, withTransaction(body, tx)))
}

// signed is a post on the partner's own base URL with its signature.
func (n *node) signed(p partner, body string) request {
	r := request{path: p.base() + "/api/lead/post", header: http.Header{}, body: body}
	n.sign(&r, p)
	return r
}

// sign gives a request the headers of a post that a partner signed now.
func (n *node) sign(r *request, p partner) { signAt(r, p.secret, n.now()) }

// signAt signs with any timestamp, a wrong one too.
func signAt(r *request, secret, timestamp string) {
	r.set("X-Timestamp", timestamp)
	r.set("X-Signature-SHA256", signing.Sign([]byte(secret), timestamp, []byte(r.body)))
}

// now is the service's time as X-Timestamp has it.
func (n *node) now() string { return n.nowPlus(0) }

func (n *node) nowPlus(seconds int64) string {
	return strconv.FormatInt(n.clock.Now().Unix()+seconds, 10)
}

// withTransaction puts the transactionId where a body says $TX.
func withTransaction(body, tx string) string { return strings.ReplaceAll(body, "$TX", tx) }

// away takes a header off a request.
func away(name string) func(*request) { return func(r *request) { r.set(name) } }

// with sets a header of a request, several times for several values.
func with(name string, values ...string) func(*request) {
	return func(r *request) { r.set(name, values...) }
}
