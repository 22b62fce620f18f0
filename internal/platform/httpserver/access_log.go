package httpserver

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
)

// AccessLog writes a line for each request, except for those that failed with a 5xx status, which are logged as errors.
// It does not use slog to format the lines, because that would take a tenth of the time that a ping takes. It does not
// escape strings, because none of them contains text from the client.
type AccessLog struct {
	out    io.Writer
	format lineFormat
}

type lineFormat struct {
	start, end, sep, is, quote string
}

// NewAccessLog returns an access log that writes lines in JSON or, if text is true, in the format of
// slog's text handler. Each line is written with one call to out.Write, which must be safe for
// concurrent use.
func NewAccessLog(out io.Writer, text bool) *AccessLog {
	if text {
		return &AccessLog{out, lineFormat{start: "", end: "\n", sep: " ", is: "=", quote: ""}}
	}
	return &AccessLog{out, lineFormat{start: "{", end: "}\n", sep: ",", is: ":", quote: `"`}}
}

func (a *AccessLog) writeRequest(rec *Record, method string, status int, took time.Duration) {
	f := &a.format
	b := append(rec.line[:0], f.start...)
	b = append(f.key(b, "time"), f.quote...)
	b = append(clock.AppendMillis(b, rec.Start), f.quote...)
	b = f.text(b, "level", "INFO")
	b = f.text(b, "msg", "request")
	b = f.text(b, "request_id", rec.IDText)
	b = f.text(b, "method", method)
	b = f.text(b, "route", rec.Route)
	b = f.number(b, "status", int64(status))
	b = f.text(b, "outcome", rec.Outcome)
	b = f.number(b, "duration_us", took.Microseconds())
	if rec.Partner != uuid.Nil {
		b = append(f.key(append(b, f.sep...), "partner"), f.quote...)
		b = append(id.Append(b, id.Partner, rec.Partner), f.quote...)
	}
	if rec.Lead != uuid.Nil {
		b = append(f.key(append(b, f.sep...), "lead_id"), f.quote...)
		b = append(id.Append(b, id.Lead, rec.Lead), f.quote...)
	}
	if rec.traceID != "" {
		b = f.text(b, "trace_id", rec.traceID)
	}
	rec.line = append(b, f.end...)
	a.out.Write(rec.line) //nolint:errcheck // an error could not be logged either
}

func (f *lineFormat) key(b []byte, name string) []byte {
	b = append(append(append(b, f.quote...), name...), f.quote...)
	return append(b, f.is...)
}

func (f *lineFormat) text(b []byte, name, value string) []byte {
	b = append(f.key(append(b, f.sep...), name), f.quote...)
	return append(append(b, value...), f.quote...)
}

func (f *lineFormat) number(b []byte, name string, value int64) []byte {
	return strconv.AppendInt(f.key(append(b, f.sep...), name), value, 10)
}

// recordRequest logs the request and counts it in the metrics. Requests that failed with a 5xx status are
// logged as errors.
func (l *Listener) recordRequest(c *gin.Context, rec *Record, counted *routeMetrics) {
	took := l.Clock.Now().Sub(rec.Start)
	status := c.Writer.Status()
	counted.observe(answer{status, rec.Outcome}, took)
	if status < http.StatusInternalServerError || rec.Expected {
		if l.AccessLog != nil {
			l.AccessLog.writeRequest(rec, method(c.Request.Method), status, took)
		}
		return
	}
	attrs := []any{
		"request_id", rec.IDText, "method", method(c.Request.Method), "route", rec.Route, "status", status,
		"outcome", rec.Outcome, "duration_us", took.Microseconds(),
	}
	if rec.Partner != uuid.Nil {
		attrs = append(attrs, "partner", id.Format(id.Partner, rec.Partner))
	}
	if rec.traceID != "" {
		attrs = append(attrs, "trace_id", rec.traceID)
	}
	if rec.Cause != nil {
		attrs = append(attrs, "error", rec.Cause.Error())
	}
	l.Log.Error("request", attrs...)
}

// method returns m if it is a known HTTP method. Otherwise it returns "other", because a client can send
// any text as the method.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "other"
}
