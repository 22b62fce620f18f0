package tracing

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Queries records the statements of traced requests, and how long they waited for a connection. It records the text of
// statements, but not their arguments.
type Queries struct{}

// startQuery starts a span, which ends when endQuery is called with the context that it returns.
func startQuery(ctx context.Context, name, sql string) context.Context {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx
	}
	attributes := []attribute.KeyValue{attribute.String("db.system.name", "postgresql")}
	if sql != "" {
		attributes = append(attributes, attribute.String("db.query.text", sql))
	}
	ctx, _ = parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attributes...))
	return ctx
}

func endQuery(ctx context.Context, err error) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	var rejected *pgconn.PgError
	if errors.As(err, &rejected) {
		span.SetAttributes(attribute.String("db.response.status_code", rejected.Code))
	}
	end(span, err)
}

// operation returns the first word of a statement, such as SELECT.
func operation(sql string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(sql), " ")
	return word
}

// TraceQueryStart implements pgx.QueryTracer.
func (Queries) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	return startQuery(ctx, operation(d.SQL), d.SQL)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (Queries) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryEndData) {
	endQuery(ctx, d.Err)
}

// TraceBatchStart implements pgx.BatchTracer. The statements of a batch have one span.
func (Queries) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	texts := make([]string, len(d.Batch.QueuedQueries))
	for i, query := range d.Batch.QueuedQueries {
		texts[i] = query.SQL
	}
	return startQuery(ctx, "batch", strings.Join(texts, ";\n"))
}

// TraceBatchQuery implements pgx.BatchTracer.
func (Queries) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (Queries) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchEndData) {
	endQuery(ctx, d.Err)
}

// TraceCopyFromStart implements pgx.CopyFromTracer.
func (Queries) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceCopyFromStartData) context.Context {
	return startQuery(ctx, "COPY "+d.TableName.Sanitize(), "")
}

// TraceCopyFromEnd implements pgx.CopyFromTracer.
func (Queries) TraceCopyFromEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceCopyFromEndData) {
	endQuery(ctx, d.Err)
}

// TraceAcquireStart implements pgxpool.AcquireTracer.
func (Queries) TraceAcquireStart(
	ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData,
) context.Context {
	return startQuery(ctx, "acquire connection", "")
}

// TraceAcquireEnd implements pgxpool.AcquireTracer.
func (Queries) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, d pgxpool.TraceAcquireEndData) {
	endQuery(ctx, d.Err)
}
