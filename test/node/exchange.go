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

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/test/spec"
)

// FreshPost sends a ping and returns the body of a minimal post that contains the ping's transactionId.
func (n *Node) FreshPost(t *testing.T, p Partner) string {
	t.Helper()
	return WithTransaction(MinimalPost, n.Ping(t, p.Base(), MinimalPing).TransactionID)
}

// PricedBody matches the whole response to a ping that received a price. The price is an exact decimal
// without trailing zeros (decision 10).
var PricedBody = regexp.MustCompile(`^\{"accepted":true,"bidPrice":((?:0|[1-9][0-9]*)(?:\.[0-9]?[1-9])?),"currency":"[A-Z]{3}",` +
	`"transactionId":"tx_[A-Za-z0-9_-]{60,197}","expiresAt":"[0-9-]{10}T[0-9:]{8}\.[0-9]{3}Z"\}$`)

// AwaitPartner waits until the node knows that a partner is active, and knows its secret. It repeats an
// invalid post until the response has status 400 instead of 401 or 404, and a ping until it is not declined
// as paused.
func (n *Node) AwaitPartner(t *testing.T, p Partner) {
	t.Helper()
	testkit.Eventually(t, time.Minute, "the node knows the new partner or secret", func() bool {
		return n.Post(t, p, "{}").Status == http.StatusBadRequest && n.Ping(t, p.Base(), MinimalPing).Reason != "paused"
	})
}

// Request is a request to the partner API. Send adds a User-Agent that contains Marker, but no other
// headers of its own.
type Request struct {
	Method string // POST if ""
	Path   string
	Header http.Header
	Body   string
}

// SetHeader replaces a header's values. If there are no values, it removes the header.
func (r *Request) SetHeader(name string, values ...string) {
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header[http.CanonicalHeaderKey(name)] = values
	if len(values) == 0 {
		r.Header.Del(name)
	}
}

// Answer is a response with its complete body.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Rejection returns the body of an error without its requestId, which must be equal to the X-Request-Id
// header.
func (a Answer) Rejection() string {
	return strings.Replace(a.Body, `,"requestId":"`+a.Header.Get("X-Request-Id")+`"`, "", 1)
}

// Do sends a request and checks the exchange against the OpenAPI document.
func (n *Node) Do(t testing.TB, r Request) Answer {
	t.Helper()
	req, a := n.Send(t, r)
	n.checkAnswer(t, req, r.Body, a)
	return a
}

// Send sends a request and reads the response. It does not follow redirects.
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

// Record counts the response if it is a price for a ping. It fails the test if an earlier response had
// the same request ID.
func (n *Node) Record(t testing.TB, path string, a Answer) {
	t.Helper()
	n.seen.mu.Lock()
	defer n.seen.mu.Unlock()
	if id := a.Header.Get("X-Request-Id"); n.seen.requestIDs[id] {
		t.Errorf("request id %s was used before", id)
	} else {
		n.seen.requestIDs[id] = true
	}
	if a.Status == http.StatusOK && strings.HasSuffix(path, "/api/lead/ping") {
		n.seen.priced++
	}
}

// CountPing counts a priced ping that another program sent.
func (n *Node) CountPing() {
	n.seen.mu.Lock()
	defer n.seen.mu.Unlock()
	n.seen.priced++
}

// PricedPings returns how many pings were answered with 200.
func (n *Node) PricedPings() int {
	n.seen.mu.Lock()
	defer n.seen.mu.Unlock()
	return n.seen.priced
}

// checkAnswer checks a response and, if its status is 200, the request against the OpenAPI document. It
// fails the test if the response is a redirect, or is a rejection that contains personal data or a
// secret.
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

// Quoted is the response to a ping.
type Quoted struct {
	Accepted      bool
	BidPrice      json.Number
	Currency      string
	TransactionID string
	ExpiresAt     time.Time
	Reason        string
}

// Delivered is the response to a post.
type Delivered struct {
	Status        string
	LeadID        string
	Payout        json.Number
	Currency      string
	Sandbox       bool
	TransactionID string
	HMACVerified  bool
	Reference     string
	SubID         string
	Envelope      struct{ PIICiphertext, WrappedDEK, IV, AuthTag []byte }
}

// Decode decodes the body of a response. It fails the test immediately if the status is not 200.
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

// MinimalPing is the body of a ping with only the required fields.
const MinimalPing = `{"industry":"plumber","postcode":"SW1A 1AA"}`

// Ping sends a ping, which must be accepted. The parameter base is the path of a partner's own base
// URL, or "" for the shared base URL.
func (n *Node) Ping(t testing.TB, base, body string) Quoted {
	t.Helper()
	return Decode[Quoted](t, n.Do(t, Request{Path: base + "/api/lead/ping", Body: body}))
}

// Post sends a post to the partner's own base URL, signed with the current time.
func (n *Node) Post(t testing.TB, p Partner, body string) Answer {
	t.Helper()
	return n.Do(t, n.Signed(p, body))
}

// Deliver sends a ping, and then a post with the transactionId of the ping. Both must be accepted.
func (n *Node) Deliver(t testing.TB, p Partner, body string) Delivered {
	t.Helper()
	tx := n.Ping(t, p.Base(), MinimalPing).TransactionID
	return Decode[Delivered](t, n.Post(t, p, WithTransaction(body, tx)))
}

// Signed returns a post to the partner's own base URL, signed with the current time.
func (n *Node) Signed(p Partner, body string) Request {
	r := Request{Path: p.Base() + "/api/lead/post", Header: http.Header{}, Body: body}
	n.Sign(&r, p)
	return r
}

// Sign signs a request with the partner's secret and the current time.
func (n *Node) Sign(r *Request, p Partner) { SignAt(r, p.Secret, n.Now()) }

// SignAt signs a request with the given timestamp, even if the timestamp is not valid.
func SignAt(r *Request, secret, timestamp string) {
	r.SetHeader("X-Timestamp", timestamp)
	r.SetHeader("X-Signature-SHA256", signing.Sign([]byte(secret), timestamp, []byte(r.Body)))
}

// Now returns the current time of the service's clock in the format of X-Timestamp.
func (n *Node) Now() string { return n.NowPlus(0) }

// NowPlus returns the current time of the service's clock plus some seconds, in the format of
// X-Timestamp.
func (n *Node) NowPlus(seconds int64) string {
	return strconv.FormatInt(n.Clock.Now().Unix()+seconds, 10)
}

// WithTransaction replaces $TX in a body with a transactionId.
func WithTransaction(body, tx string) string { return strings.ReplaceAll(body, "$TX", tx) }

// CheckUnavailable fails the test unless the response has status 503, the given error, and a
// Retry-After of 2 seconds.
func (n *Node) CheckUnavailable(t *testing.T, a Answer, rejection spec.Rejection) {
	t.Helper()
	if want := rejection.Body(); a.Status != http.StatusServiceUnavailable || a.Rejection() != want ||
		a.Header.Get("Retry-After") != "2" {
		t.Errorf("answered %d, Retry-After %q, %s; want 503, 2, %s", a.Status, a.Header.Get("Retry-After"), a.Body, want)
	}
}
