// Package tracing records traces of requests, and sends them to a collector over OTLP/HTTP.
package tracing

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options configures New.
type Options struct {
	Endpoint    string  // the collector's base URL, such as http://127.0.0.1:4318
	Header      Header  // of requests to the collector
	SampleRatio float64 // the share of requests without a parent that are traced, from 0 to 1
	Version     string  // of the program
	Environment string  // such as "production"
	Node        string  // the node's name
	Log         *slog.Logger
}

// Header is a header of an HTTP request, or none if Name is empty.
type Header struct{ Name, Value string }

// Tracer records spans of requests.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	exporter *exporter
	ratio    float64
}

// Spans are sent in batches, when there are enough of them or some time has passed. The variables OTEL_BSP_* do not
// change this.
const (
	queueSize  = 8192
	batchSize  = 1024
	batchEvery = 2 * time.Second
)

const scope = "github.com/pingpost/pingpost"

// New returns a Tracer that sends spans in the background. It does not call the collector.
func New(o Options) *Tracer {
	t := &Tracer{exporter: newExporter(o), ratio: o.SampleRatio}
	// StartRequest decides which requests are traced, so that other requests cost nothing. If the collector is too slow
	// for the queue, further spans are lost.
	queue := sdk.WithBatcher(t.exporter, sdk.WithMaxQueueSize(queueSize), sdk.WithMaxExportBatchSize(batchSize),
		sdk.WithBatchTimeout(batchEvery), sdk.WithExportTimeout(sendTimeout))
	t.provider = sdk.NewTracerProvider(queue, sdk.WithSampler(sdk.AlwaysSample()))
	t.tracer = t.provider.Tracer(scope)
	return t
}

// SetHeader replaces the header of requests to the collector.
func (t *Tracer) SetHeader(h Header) { t.exporter.header.Store(&h) }

// Check sends an empty request to the collector.
func (t *Tracer) Check(ctx context.Context) error { return t.exporter.send(ctx, nil) }

// Shutdown sends the spans that have not been sent yet.
func (t *Tracer) Shutdown(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// StartRequest starts the span of a request, if it is traced. If the header traceparent is in header, the caller has
// decided this. Otherwise, a share of the requests is traced. If the request belongs to a trace, the span has a valid
// trace ID, even if it is not recorded.
func (t *Tracer) StartRequest(ctx context.Context, header http.Header, name string) (context.Context, trace.Span) {
	if len(header["Traceparent"]) > 0 {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(header))
	}
	parent := trace.SpanFromContext(ctx)
	if decided := parent.SpanContext(); decided.IsValid() {
		if !decided.IsSampled() {
			return ctx, parent
		}
	} else if rand.Float64() >= t.ratio { //nolint:gosec // not a secret
		return ctx, parent
	}
	return t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
}

// StartSpan starts a span of work within a traced request. The function that it returns ends the span. If the request
// is not traced, StartSpan does nothing.
func StartSpan(ctx context.Context, name string) (context.Context, func(error)) {
	return startSpan(ctx, name, trace.SpanKindInternal)
}

// StartCall is like StartSpan, for a call to another program.
func StartCall(ctx context.Context, name string) (context.Context, func(error)) {
	return startSpan(ctx, name, trace.SpanKindClient)
}

func startSpan(ctx context.Context, name string, kind trace.SpanKind) (context.Context, func(error)) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, func(error) {}
	}
	ctx, span := parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, func(err error) { end(span, err) }
}

// end ends a span. The span does not contain the text of the error, which may contain values.
func end(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}
