package console

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// fault is what happens to a request that a sample sends through a sampleProxy.
type fault int

const (
	lost        fault = iota + 1 // the connection is closed, and the node does not get the request
	unanswered                   // the connection is closed after the node has responded
	halved                       // the connection is closed after half of the response's body
	unavailable                  // the proxy responds with 503
)

// retryAfter is the Retry-After of a 503 from the proxy, in seconds. It is longer than the pause that a
// sample would make without it.
const retryAfter = 5

// sampleProxy is a proxy between a sample and a node. It records the posts.
type sampleProxy struct {
	url    string
	node   *httputil.ReverseProxy
	faults map[string][]fault // the faults of the next requests, by the end of the path

	mu    sync.Mutex
	posts []samplePost
}

type samplePost struct {
	at                         time.Time
	body, timestamp, signature string
}

func newSampleProxy(t *testing.T, n *node.Node) *sampleProxy {
	t.Helper()
	api, err := url.Parse(n.API)
	if err != nil {
		t.Fatal(err)
	}
	p := &sampleProxy{node: httputil.NewSingleHostReverseProxy(api), faults: map[string][]fault{}}
	server := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// program returns a sample that uses the proxy instead of the node, and has another consumer.
func (p *sampleProxy) program(n *node.Node, code, consumer string) string {
	code = strings.Replace(code, n.Config.HTTP.PublicURL, p.url, 1)
	return sampleName.ReplaceAllLiteralString(code, consumer)
}

func (p *sampleProxy) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	switch p.next(r, string(body)) {
	case lost:
		panic(http.ErrAbortHandler) // closes the connection
	case unanswered:
		p.node.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case halved:
		answer := httptest.NewRecorder()
		p.node.ServeHTTP(answer, r)
		maps.Copy(w.Header(), answer.Header())
		w.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case unavailable:
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, spec.NotSaved.Body())
	default:
		p.node.ServeHTTP(w, r)
	}
}

// next records a post and returns its fault.
func (p *sampleProxy) next(r *http.Request, body string) (f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/api/lead/post") {
		p.posts = append(p.posts, samplePost{
			clock.System{}.Now(), body, r.Header.Get("X-Timestamp"), r.Header.Get("X-Signature-SHA256"),
		})
	}
	for path, left := range p.faults {
		if strings.HasSuffix(r.URL.Path, path) && len(left) > 0 {
			f, p.faults[path] = left[0], left[1:]
		}
	}
	return f
}

// checkRetries checks that a sample has sent the same body four times, each time with a new timestamp and
// signature, and has waited as long as Retry-After says.
func (p *sampleProxy) checkRetries(t *testing.T) {
	t.Helper()
	if len(p.posts) != 4 {
		t.Fatalf("got %d posts, want 4", len(p.posts))
	}
	for i, post := range p.posts[1:] {
		before := p.posts[i]
		if post.body != before.body || post.timestamp == before.timestamp || post.signature == before.signature {
			t.Errorf("attempt %d: the same body: %t, timestamps %s and %s", i+2, post.body == before.body,
				before.timestamp, post.timestamp)
		}
		least := 2 * time.Second
		if i == 1 {
			least = retryAfter * time.Second
		}
		if pause := post.at.Sub(before.at); pause < least-100*time.Millisecond {
			t.Errorf("attempt %d: after %s, want at least %s", i+2, pause, least)
		}
	}
}
