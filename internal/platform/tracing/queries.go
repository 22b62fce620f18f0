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

type endKey struct{}

func begin(ctx context.Context, name string, attributes ...attribute.KeyValue) context.Context {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx
	}
	ctx, end := Start(ctx, name, append(attributes, attribute.String("db.system.name", "postgresql"))...)
	return context.WithValue(ctx, endKey{}, end)
}

func end(ctx context.Context, err error) {
	if end, traced := ctx.Value(endKey{}).(func(error)); traced {
		end(err)
	}
}

// TraceQueryStart implements pgx.QueryTracer.
func (Queries) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	operation, _, _ := strings.Cut(strings.TrimSpace(d.SQL), " ")
	return begin(ctx, operation, attribute.String("db.query.text", d.SQL))
}

// TraceQueryEnd implements pgx.QueryTracer.
func (Queries) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryEndData) {
	var rejected *pgconn.PgError
	if errors.As(d.Err, &rejected) {
		trace.SpanFromContext(ctx).SetAttributes(attribute.String("db.response.status_code", rejected.Code))
	}
	end(ctx, d.Err)
}

// TraceAcquireStart implements pgxpool.AcquireTracer.
func (Queries) TraceAcquireStart(
	ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData,
) context.Context {
	return begin(ctx, "acquire connection")
}

// TraceAcquireEnd implements pgxpool.AcquireTracer.
func (Queries) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, d pgxpool.TraceAcquireEndData) {
	end(ctx, d.Err)
}
