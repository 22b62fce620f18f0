package tracing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/failurelog"
)

// sendTimeout limits a request to the collector.
const sendTimeout = 10 * time.Second

// exporter sends spans as JSON. The library's exporter would add 5 MB to the program.
//
// Source: https://opentelemetry.io/docs/specs/otlp/#otlphttp
type exporter struct {
	url      string
	header   atomic.Pointer[Header]
	resource resource
	client   *http.Client
	log      *slog.Logger

	mu      sync.Mutex
	failure failurelog.State
}

func newExporter(o Options) *exporter {
	e := &exporter{url: strings.TrimSuffix(o.Endpoint, "/") + "/v1/traces", log: o.Log}
	e.header.Store(&o.Header)
	e.client = &http.Client{
		Transport: http.DefaultTransport.(*http.Transport).Clone(), //nolint:forcetypeassert // its type is known
		// Another host must not get the header.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	e.resource = resource{attributesOf([]attribute.KeyValue{
		attribute.String("service.name", "pingpost"), attribute.String("service.version", o.Version),
		attribute.String("service.instance.id", o.Node), attribute.String("deployment.environment.name", o.Environment),
	})}
	return e
}

// ExportSpans implements sdk.SpanExporter. If the collector cannot be reached, the spans are lost.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.send(ctx, spans)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err == nil:
		if e.failure.End() {
			e.log.Info("sending traces again")
		}
	case e.failure.Due(err.Error(), clock.System{}.Now()):
		e.log.Warn("cannot send traces; dropping them", "error", err)
	}
	return nil
}

// Shutdown implements sdk.SpanExporter.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

func (e *exporter) send(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	body, err := json.Marshal(e.request(spans))
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if h := e.header.Load(); h.Name != "" {
		request.Header.Set(h.Name, h.Value)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := e.client.Do(request)
	if err != nil {
		if outer, ok := err.(*url.Error); ok { //nolint:errorlint // Do returns only this type
			err = outer.Err // without the URL
		}
		return fmt.Errorf("cannot reach the collector: %w: check tracing.endpoint", err)
	}
	defer answer.Body.Close()
	io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) //nolint:errcheck // so that the connection is used again
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the collector responded with %d: check tracing.endpoint and tracing.header",
			answer.StatusCode)
	}
	return nil
}

// The JSON of an ExportTraceServiceRequest, as far as it is used.
type (
	exportRequest struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []span `json:"spans"`
	}
	span struct {
		TraceID    string     `json:"traceId"` // in hexadecimal
		SpanID     string     `json:"spanId"`
		ParentID   string     `json:"parentSpanId,omitempty"`
		State      string     `json:"traceState,omitempty"`
		Name       string     `json:"name"`
		Kind       int        `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes []keyValue `json:"attributes"`
		Status     struct {
			Code int `json:"code,omitempty"`
		} `json:"status"`
	}
	keyValue struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

// statusError is the status of a span that failed. The SDK's constants have other values.
const statusError = 2

func (e *exporter) request(spans []sdk.ReadOnlySpan) exportRequest {
	if len(spans) == 0 {
		return exportRequest{[]resourceSpans{}}
	}
	all := scopeSpans{Spans: make([]span, len(spans))}
	all.Scope.Name = scope
	for i, s := range spans {
		c := s.SpanContext()
		to := &all.Spans[i]
		to.TraceID, to.SpanID, to.State = c.TraceID().String(), c.SpanID().String(), c.TraceState().String()
		if parent := s.Parent(); parent.HasSpanID() {
			to.ParentID = parent.SpanID().String()
		}
		to.Name, to.Kind = s.Name(), int(s.SpanKind())
		to.Start, to.End = nanoseconds(s.StartTime()), nanoseconds(s.EndTime())
		to.Attributes = attributesOf(s.Attributes())
		if s.Status().Code == codes.Error {
			to.Status.Code = statusError
		}
	}
	return exportRequest{[]resourceSpans{{e.resource, []scopeSpans{all}}}}
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func attributesOf(given []attribute.KeyValue) []keyValue {
	all := make([]keyValue, len(given))
	for i, a := range given {
		all[i] = keyValue{string(a.Key), map[string]any{"stringValue": a.Value.String()}}
		if a.Value.Type() == attribute.INT64 {
			all[i].Value = map[string]any{"intValue": a.Value.String()}
		}
	}
	return all
}
