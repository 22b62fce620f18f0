package tracing_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/tracing"
)

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	caller  = "00-" + traceID + "-b7ad6b7169203331-"
)

func header(traceparent string) http.Header {
	h := http.Header{}
	h.Set("Traceparent", traceparent)
	return h
}

func attributes(s ptrace.Span) map[string]any { return s.Attributes().AsRaw() }

// The caller decides whether a request is traced. Without a caller, the ratio does.
func TestWhichRequestsAreTraced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ratio    float64
		header   http.Header
		recorded bool
		trace    string // "" for a new one
	}{
		"all":                    {1, nil, true, ""},
		"none":                   {0, nil, false, "00000000000000000000000000000000"},
		"sampled by the caller":  {0, header(caller + "01"), true, traceID},
		"left out by the caller": {1, header(caller + "00"), false, traceID},
		"header that is wrong":   {1, header("00-zz"), true, ""},
	} {
		tracer := tracing.New(tracing.Options{Endpoint: "http://127.0.0.1:1", SampleRatio: c.ratio})
		_, span := tracer.StartRequest(t.Context(), c.header, "request")
		got := span.SpanContext().TraceID()
		if span.IsRecording() != c.recorded || c.trace != "" && got.String() != c.trace ||
			c.trace == "" && !got.IsValid() {
			t.Errorf("%s: recorded %v in the trace %s", name, span.IsRecording(), got)
		}
	}
}

func TestSpansAreSent(t *testing.T) {
	t.Parallel()
	collector, db := testkit.NewCollector(t), testkit.NewDatabase(t)
	log, lines := testkit.NewLog()
	tracer := tracing.New(tracing.Options{
		Endpoint: collector.URL + "/", Header: tracing.Header{Name: "Authorization", Value: "Bearer one"},
		SampleRatio: 1, Version: "v1", Log: log,
	})
	if err := tracer.Check(t.Context()); err != nil || collector.Header().Get("Authorization") != "Bearer one" {
		t.Fatalf("check: %v, header %v", err, collector.Header())
	}
	cfg, err := pgx.ParseConfig(db.AppURL)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Tracer = tracing.Queries{}
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var n int
	if err := conn.QueryRow(t.Context(), `SELECT 2`).Scan(&n); err != nil { // not within a request
		t.Fatal(err)
	}
	ctx, request := tracer.StartRequest(t.Context(), header(caller+"01"), "request")
	inner, end := tracing.StartSpan(ctx, "work")
	if err := conn.QueryRow(inner, `SELECT length($1)`, "quillfeather").Scan(&n); err != nil || n != 12 {
		t.Fatal(n, err)
	}
	if _, err := conn.Exec(inner, `SELECT 1 / $1::integer`, 0); err == nil {
		t.Fatal("no error")
	}
	batch := &pgx.Batch{}
	batch.Queue(`SELECT 3`)
	batch.Queue(`SELECT length($1)`, "quillfeather")
	if err := conn.SendBatch(inner, batch).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `CREATE TEMPORARY TABLE copied (name text)`); err != nil {
		t.Fatal(err)
	}
	rows := pgx.CopyFromRows([][]any{{"quillfeather"}})
	if _, err := conn.CopyFrom(inner, pgx.Identifier{"copied"}, []string{"name"}, rows); err != nil {
		t.Fatal(err)
	}
	end(errors.New("quillfeather"))
	request.End()
	tracer.SetHeader(tracing.Header{Name: "Api-Key", Value: "two"})
	if err := tracer.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := collector.Header(); got.Get("Api-Key") != "two" || got.Get("Authorization") != "" {
		t.Errorf("the header was not replaced: %v", got)
	}
	spans := map[string]ptrace.Span{}
	for _, s := range collector.Spans() {
		key := s.Name()
		if status, _ := s.Attributes().Get("db.response.status_code"); status.Str() != "" {
			key += " " + status.Str()
		}
		spans[key] = s
		if s.TraceID().String() != traceID || s.EndTimestamp() < s.StartTimestamp() ||
			time.Since(s.StartTimestamp().AsTime()) > time.Minute {
			t.Errorf("%s: trace %s from %v to %v", key, s.TraceID(), s.StartTimestamp(), s.EndTimestamp())
		}
	}
	if len(spans) != 6 || len(collector.Spans()) != 6 {
		t.Fatalf("got %d spans: %v", len(collector.Spans()), spans)
	}
	root, work, read, failed := spans["request"], spans["work"], spans["SELECT"], spans["SELECT 22012"]
	if root.ParentSpanID().String() != "b7ad6b7169203331" || work.ParentSpanID() != root.SpanID() ||
		read.ParentSpanID() != work.SpanID() || failed.ParentSpanID() != work.SpanID() {
		t.Error("the spans do not form a tree")
	}
	if root.Kind() != ptrace.SpanKindServer || work.Kind() != ptrace.SpanKindInternal ||
		read.Kind() != ptrace.SpanKindClient {
		t.Errorf("got the kinds %v, %v and %v", root.Kind(), work.Kind(), read.Kind())
	}
	batched, copied := spans["batch"], spans[`COPY "copied"`]
	if attributes(batched)["db.query.text"] != "SELECT 3;\nSELECT length($1)" ||
		batched.ParentSpanID() != work.SpanID() || copied.ParentSpanID() != work.SpanID() {
		t.Errorf("got the batch %v", attributes(batched))
	}
	if got := attributes(read); got["db.query.text"] != `SELECT length($1)` || got["db.system.name"] != "postgresql" {
		t.Errorf("got the query %v", got)
	}
	if read.Status().Code() != ptrace.StatusCodeUnset || failed.Status().Code() != ptrace.StatusCodeError ||
		work.Status().Code() != ptrace.StatusCodeError {
		t.Error("wrong states")
	}
	if strings.Contains(collector.Text(), "quillfeather") {
		t.Error("the traces contain an argument or the text of an error")
	}
	if lines.Count(`"msg"`) != 0 {
		t.Errorf("logged %s", lines)
	}
}

// A collector that does not work is logged once, and again when it works.
func TestCollectorFails(t *testing.T) {
	t.Parallel()
	collector := testkit.NewCollector(t)
	log, lines := testkit.NewLog()
	tracer := tracing.New(tracing.Options{Endpoint: collector.URL, SampleRatio: 1, Log: log})
	send := func() {
		t.Helper()
		_, span := tracer.StartRequest(t.Context(), nil, "request")
		span.End()
		if err := tracer.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	collector.Respond(http.StatusUnauthorized)
	send()
	send()
	if err := tracer.Check(t.Context()); err == nil || lines.Count(`"level":"WARN"`) != 1 || lines.Count("401") != 1 {
		t.Errorf("check: %v; logged %s", err, lines)
	}
	collector.Respond(http.StatusOK)
	send()
	if len(collector.Spans()) != 1 || lines.Count(`"level":"INFO"`) != 1 {
		t.Errorf("got %d spans, logged %s", len(collector.Spans()), lines)
	}
}
