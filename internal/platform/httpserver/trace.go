package httpserver

import (
	"cmp"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/pingpost/pingpost/internal/base/id"
)

// startTrace starts the span of a request, if the request is traced. Otherwise, it returns nil. The header traceparent
// counts only if it comes from a trusted proxy.
func (l *Listener) startTrace(c *gin.Context, rec *Record) trace.Span {
	if l.Tracer == nil {
		return nil
	}
	var header http.Header
	if c.Request.Header["Traceparent"] != nil && l.Clients != nil && l.Clients.trusts(c.Request) {
		header = c.Request.Header
	}
	ctx, span := l.Tracer.StartRequest(c.Request.Context(), header, rec.Route)
	if id := span.SpanContext().TraceID(); id.IsValid() {
		rec.traceID = id.String()
	}
	if !span.IsRecording() {
		return nil
	}
	c.Request = c.Request.WithContext(ctx)
	return span
}

// route returns the pattern of the route's path. Requests without a route have the name "none".
func route(c *gin.Context, rec *Record) string { return cmp.Or(c.FullPath(), rec.Route) }

func endTrace(span trace.Span, c *gin.Context, rec *Record) {
	if span == nil {
		return
	}
	status := c.Writer.Status()
	span.SetAttributes(
		attribute.String("http.request.method", method(c.Request.Method)),
		attribute.String("http.route", route(c, rec)),
		attribute.Int("http.response.status_code", status),
		attribute.String("pingpost.request_id", rec.IDText),
		attribute.String("pingpost.outcome", rec.Outcome),
	)
	if rec.Partner != uuid.Nil {
		span.SetAttributes(attribute.String("pingpost.partner", id.Format(id.Partner, rec.Partner)))
	}
	if rec.Lead != uuid.Nil {
		span.SetAttributes(attribute.String("pingpost.lead_id", id.Format(id.Lead, rec.Lead)))
	}
	if status >= http.StatusInternalServerError && !rec.Expected {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}
