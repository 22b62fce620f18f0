package httpserver

import (
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/tracing"
)

// Record contains what the access log and the metrics show about a request. It must not be used
// after the request has ended, because another request may reuse it.
type Record struct {
	Route   string // the pattern of the route
	Start   time.Time
	Client  netip.Addr // if the listener has Clients
	ID      uuid.UUID
	IDText  string    // rq_…, as in X-Request-Id
	Outcome string    // from a fixed set
	Partner uuid.UUID // the partner that sent the request, if it is known
	Lead    uuid.UUID // the lead that a post delivered, now or earlier
	Cause   error     // the cause of a rejection; only for the log
	// Expected is set if a 5xx status only reports a state, such as "not ready", and is not an error.
	Expected bool

	Body, Answer []byte // buffers for a handler that needs them
	traceID      string // if the request belongs to a trace
	line         []byte // buffer for the access log's line
}

// Handler handles a request. If it returns an error, the listener writes the response.
type Handler func(*gin.Context, *Record) error

// Listener contains the settings that all endpoints of a listener share. AccessLog, Clients and Tracer may be nil.
type Listener struct {
	Clock     clock.Clock
	Log       *slog.Logger
	AccessLog *AccessLog
	Metrics   *Metrics
	Clients   *Clients
	Tracer    *tracing.Tracer
	Reject    func(*gin.Context, *Record, error) // writes the response for an error
}

// ErrPanic is passed to Reject if a handler panicked.
var ErrPanic = apperr.New(apperr.Internal, "panic",
	"An unexpected error occurred in the service. Send the request again later.")

const outcomeAborted = "aborted"

// statusClientClosed is logged and counted if the client disconnected before the response. HTTP has no status for that,
// so this is the one that nginx logs.
const statusClientClosed = 499

var records = sync.Pool{New: func() any {
	return &Record{Body: make([]byte, 0, 4<<10), Answer: make([]byte, 0, 4<<10)}
}}

// Endpoint returns the gin handler of a route. The gin handler sets the request id, calls the function
// handle, turns a panic into ErrPanic, and records the request in the log and the metrics.
//
// If handle panics with http.ErrAbortHandler, the connection is closed, as in net/http, so that the
// client does not mistake the incomplete response for a complete one.
func (l *Listener) Endpoint(route string, handle Handler) gin.HandlerFunc {
	counted := l.Metrics.of(route)
	return func(c *gin.Context) {
		rec := records.Get().(*Record)
		rec.reset(route, l.Clock.Now())
		if l.Clients != nil {
			rec.Client = l.Clients.of(c.Request, rec.Start)
		}
		h := c.Writer.Header()
		h["X-Request-Id"] = []string{rec.IDText}
		h["X-Content-Type-Options"] = noSniff
		span := l.startTrace(c, rec)
		err := l.protect(c, rec, handle)
		switch {
		case err == nil:
		case errors.Is(err, http.ErrAbortHandler):
			rec.Outcome = outcomeAborted
			if !c.Writer.Written() {
				c.Status(statusClientClosed)
			}
		default:
			l.Reject(c, rec, err)
		}
		l.recordRequest(c, rec, counted)
		endTrace(span, c, rec)
		rec.Cause = nil
		records.Put(rec)
		if errors.Is(err, http.ErrAbortHandler) {
			panic(http.ErrAbortHandler)
		}
	}
}

var noSniff = []string{"nosniff"}

func (rec *Record) reset(route string, now time.Time) {
	*rec = Record{
		Route:  route,
		Start:  now,
		ID:     id.New(now),
		Body:   rec.Body[:0],
		Answer: rec.Answer[:0],
		line:   rec.line[:0],
	}
	rec.IDText = id.Format(id.Request, rec.ID)
}

// protect calls a handler and turns a panic into an error. It logs the stack but not the value of
// the panic, which may contain secrets or personal data.
func (l *Listener) protect(c *gin.Context, rec *Record, handle Handler) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			err = http.ErrAbortHandler
		default:
			l.Log.Error("panic", "request_id", rec.IDText, "route", rec.Route, "stack", string(debug.Stack()))
			err = ErrPanic
		}
	}()
	return handle(c, rec)
}
