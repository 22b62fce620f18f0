package node

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/signing"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/test/spec"
)

// FreshPost is a minimal post against a transaction of its own.
func (n *Node) FreshPost(t *testing.T, p Partner) string {
	t.Helper()
	return WithTransaction(MinimalPost, n.Ping(t, p.Base(), MinimalPing).TransactionID)
}

// PricedBody is the whole answer to a ping. Its amount is an exact decimal with
// no zero too many (decision 10).
var PricedBody = regexp.MustCompile(`^\{"accepted":true,"bidPrice":((?:0|[1-9][0-9]*)(?:\.[0-9]?[1-9])?),"currency":"[A-Z]{3}",` +
	`"transactionId":"tx_[A-Za-z0-9_-]{60,197}","expiresAt":"[0-9-]{10}T[0-9:]{8}\.[0-9]{3}Z"\}$`)

// AwaitPartner waits until the node's directory holds a partner with its secret: it
// answers a wrong payload with that problem rather than with 401 or 404.
func (n *Node) AwaitPartner(t *testing.T, p Partner) {
	t.Helper()
	testkit.Eventually(t, 10*time.Second, "the node knows the new partner or secret", func() bool {
		return n.Post(t, p, "{}").Status == http.StatusBadRequest
	})
}

// Request is what a test sends: a POST with these headers and no others, apart
// from a telltale User-Agent.
type Request struct {
	Method string // POST when ""
	Path   string
	Header http.Header
	Body   string
}

// SetHeader replaces a header's values; none takes it away.
func (r *Request) SetHeader(name string, values ...string) {
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header[http.CanonicalHeaderKey(name)] = values
	if len(values) == 0 {
		r.Header.Del(name)
	}
}

// Answer is a response, read to its end.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Do sends a request and holds the exchange against the OpenAPI document.
func (n *Node) Do(t testing.TB, r Request) Answer {
	t.Helper()
	req, a := n.Send(t, r)
	n.checkAnswer(t, req, r.Body, a)
	return a
}

// Send sends a request and reads the answer. Redirects are not followed.
func (n *Node) Send(t testing.TB, r Request) (*http.Request, Answer) {
	t.Helper()
	method := r.Method
	if method == "" {
		method = http.MethodPost
	}
	var body io.Reader
	if r.Body != "" {
		body = strings.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, n.API+r.Path, body)
	if err != nil {
		t.Fatal(err)
	}
	if r.Header != nil {
		req.Header = r.Header.Clone()
	}
	req.Header.Set("User-Agent", Marker+"/1.0")
	resp, err := n.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}
	n.Record(t, req.URL.Path, a)
	return req, a
}

// Record keeps what answers have to be compared with: each has an id of its own,
// and the pings among them are counted.
func (n *Node) Record(t testing.TB, path string, a Answer) {
	t.Helper()
	n.seen.mu.Lock()
	defer n.seen.mu.Unlock()
	if id := a.Header.Get("X-Request-Id"); n.seen.requestIDs[id] {
		t.Errorf("the request id %s was there before", id)
	} else {
		n.seen.requestIDs[id] = true
	}
	if a.Status == http.StatusOK && strings.HasSuffix(path, "/api/lead/ping") {
		n.seen.priced++
	}
}

// CountPing counts a ping that a program outside the test sent.
func (n *Node) CountPing() {
	n.seen.mu.Lock()
	defer n.seen.mu.Unlock()
	n.seen.priced++
}

// PricedPings is how many pings were answered with 200.
func (n *Node) PricedPings() int {
	n.seen.mu.Lock()
	defer n.seen.mu.Unlock()
	return n.seen.priced
}

// checkAnswer checks what holds for every answer: it is as the OpenAPI document
// says, a request that was accepted is as well, it redirects nowhere, and a
// refusal repeats nothing of what was sent.
func (n *Node) checkAnswer(t testing.TB, req *http.Request, body string, a Answer) {
	t.Helper()
	asDocumented(t, req, body, a, a.Status == http.StatusOK)
	if to := a.Header.Get("Location"); to != "" {
		t.Errorf("redirected to %s", to)
	}
	if a.Status != http.StatusOK {
		n.checkRepeatsNothing(t, a)
	}
}

// Quoted is a ping's answer.
type Quoted struct {
	Accepted      bool
	BidPrice      json.Number
	Currency      string
	TransactionID string
	ExpiresAt     time.Time
	Reason        string
}

// Delivered is a post's answer.
type Delivered struct {
	Status        string
	LeadID        string
	Payout        json.Number
	TransactionID string
	HMACVerified  bool
	Envelope      struct{ PIICiphertext, WrappedDEK, IV, AuthTag []byte }
}

// Decode reads an answer's body; the test ends when it was not a 200.
func Decode[T any](t testing.TB, a Answer) T {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("answered %d: %s", a.Status, a.Body)
	}
	var v T
	if err := json.Unmarshal([]byte(a.Body), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// MinimalPing is what a ping must have.
const MinimalPing = `{"industry":"plumber","postcode":"SW1A 1AA"}`

// Ping asks for a price on a base URL: a partner's Base or "", the shared one.
func (n *Node) Ping(t testing.TB, base, body string) Quoted {
	t.Helper()
	return Decode[Quoted](t, n.Do(t, Request{Path: base + "/api/lead/ping", Body: body}))
}

// Post delivers a lead for a partner, on its own base URL, signed now.
func (n *Node) Post(t testing.TB, p Partner, body string) Answer {
	t.Helper()
	return n.Do(t, n.Signed(p, body))
}

// Deliver is a ping and its post, which must succeed.
func (n *Node) Deliver(t testing.TB, p Partner, body string) Delivered {
	t.Helper()
	tx := n.Ping(t, p.Base(), MinimalPing).TransactionID
	return Decode[Delivered](t, n.Post(t, p, WithTransaction(body, tx)))
}

// Signed is a post on the partner's own base URL with its signature.
func (n *Node) Signed(p Partner, body string) Request {
	r := Request{Path: p.Base() + "/api/lead/post", Header: http.Header{}, Body: body}
	n.Sign(&r, p)
	return r
}

// Sign gives a request the headers of a post that a partner signed now.
func (n *Node) Sign(r *Request, p Partner) { SignAt(r, p.Secret, n.Now()) }

// SignAt signs with any timestamp, a wrong one too.
func SignAt(r *Request, secret, timestamp string) {
	r.SetHeader("X-Timestamp", timestamp)
	r.SetHeader("X-Signature-SHA256", signing.Sign([]byte(secret), timestamp, []byte(r.Body)))
}

// Now is the service's time as X-Timestamp has it.
func (n *Node) Now() string { return n.NowPlus(0) }

// NowPlus is the service's time some seconds later, as X-Timestamp has it.
func (n *Node) NowPlus(seconds int64) string {
	return strconv.FormatInt(n.Clock.Now().Unix()+seconds, 10)
}

// WithTransaction puts the transactionId where a body says $TX.
func WithTransaction(body, tx string) string { return strings.ReplaceAll(body, "$TX", tx) }

// CheckUnavailable checks a 503 of the specification: it asks to come back, stores
// nothing and spends no transaction.
func (n *Node) CheckUnavailable(t *testing.T, a Answer, message string) {
	t.Helper()
	if want := spec.Rejected(message); a.Status != http.StatusServiceUnavailable || a.Body != want ||
		a.Header.Get("Retry-After") != "2" {
		t.Errorf("answered %d, Retry-After %q, %s; want 503, 2, %s", a.Status, a.Header.Get("Retry-After"), a.Body, want)
	}
}
