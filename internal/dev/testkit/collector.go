package testkit

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// Collector accepts traces like an OpenTelemetry collector, and decodes them with its code.
type Collector struct {
	URL string

	mu     sync.Mutex
	status int // of the next responses; 0 for 200
	header http.Header
	spans  []ptrace.Span
	text   []byte // all requests
}

// NewCollector starts a Collector.
func NewCollector(t testing.TB) *Collector {
	c := &Collector{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		request := ptraceotlp.NewExportRequest()
		if err == nil {
			err = request.UnmarshalJSON(body)
		}
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("request to the collector: %s %v", r.URL.Path, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.header = r.Header
		c.text = append(c.text, body...)
		if c.status != 0 {
			w.WriteHeader(c.status)
			return
		}
		for _, resource := range request.Traces().ResourceSpans().All() {
			if name, _ := resource.Resource().Attributes().Get("service.name"); name.Str() != "pingpost" {
				t.Errorf("spans of the service %q", name.Str())
			}
			for _, scope := range resource.ScopeSpans().All() {
				for _, span := range scope.Spans().All() {
					c.spans = append(c.spans, span)
				}
			}
		}
	}))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// Respond makes the collector respond with a status, and lose the spans unless it is 200.
func (c *Collector) Respond(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status = status; status == http.StatusOK {
		c.status = 0
	}
}

// Spans returns the received spans.
func (c *Collector) Spans() []ptrace.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spans[:len(c.spans):len(c.spans)]
}

// Header returns the header of the last request.
func (c *Collector) Header() http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.header
}

// Text returns the bodies of all requests.
func (c *Collector) Text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.text)
}
