package httpserver

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/id"
)

// Record is what the access log and the metrics know of a request. It is reused once the
// request has been answered.
type Record struct {
	Route   string // the pattern, never the path: a path is the client's free text
	Start   time.Time
	ID      uuid.UUID
	IDText  string    // rq_…, as in X-Request-Id
	Outcome string    // from a closed set
	Partner uuid.UUID // where it is known whose request it is
	Cause   error     // of a rejection; for the log alone

	Body, Answer []byte // buffers for a handler that needs them
	line         []byte // of the access log
}

// Handler answers a request, or returns the error that the listener is to answer.
type Handler func(*gin.Context, *Record) error

// Listener is what the requests of one listener have in common. AccessLog is nil for none.
type Listener struct {
	Clock     clock.Clock
	Log       *slog.Logger
	AccessLog *AccessLog
	Metrics   *Metrics
	Reject    func(*gin.Context, *Record, error) // writes the response to an error
}

// ErrPanic is what a handler that panicked has returned.
var ErrPanic = apperr.New(apperr.Internal, "panic",
	"An unexpected failure in the service; nothing is known to be wrong with the request")

const outcomeAborted = "aborted"

var records = sync.Pool{New: func() any {
	return &Record{Body: make([]byte, 0, 4<<10), Answer: make([]byte, 0, 4<<10)}
}}

// Endpoint runs a handler around which everything is the same: an id, a panic that becomes
// an error, one line of log, the metrics.
//
// A handler that panics with http.ErrAbortHandler ends the connection, as net/http does, so
// that a response that broke off never looks complete.
func (l *Listener) Endpoint(route string, handle Handler) gin.HandlerFunc {
	counted := l.Metrics.of(route)
	return func(c *gin.Context) {
		rec := records.Get().(*Record)
		rec.reset(route, l.Clock.Now())
		h := c.Writer.Header()
		h["X-Request-Id"] = []string{rec.IDText}
		h["X-Content-Type-Options"] = noSniff
		err := l.protect(c, rec, handle)
		switch {
		case err == nil:
		case errors.Is(err, http.ErrAbortHandler):
			rec.Outcome = outcomeAborted
		default:
			l.Reject(c, rec, err)
		}
		l.recordRequest(c, rec, counted)
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

// protect turns a panic into an error. The stack goes to the log, the value of
// the panic does not: it may hold anything.
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
