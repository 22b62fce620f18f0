package api

import (
	"errors"
	"io"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
)

// exchange is a request and what became of it, for the answer's headers, the
// access log and the metrics. Its buffers are reused.
type request struct {
	route       string
	start       time.Time
	requestID   uuid.UUID
	requestText string
	body        []byte
	answer      []byte
	line        []byte // of the access log
	outcome     string
	partner     uuid.UUID
	cause       error // of a refusal; for the log alone
}

var exchanges = sync.Pool{New: func() any {
	return &request{body: make([]byte, 0, 4<<10), answer: make([]byte, 0, 4<<10)}
}}

// Outcomes of the HTTP layer itself.
var (
	errTooLarge  = apperr.New(apperr.TooLarge, "too_large", "Payload Too Large")
	errNotFound  = apperr.New(apperr.NotFound, "not_found", "Not Found")
	errNotPost   = apperr.New(apperr.Invalid, "method", "Method Not Allowed")
	errCutOff    = apperr.New(apperr.Incomplete, "incomplete", "Request Timeout")
	errPanicking = apperr.New(apperr.Internal, "panic", "An unexpected failure in the service; nothing is known to be wrong with the request")
)

// endpoint runs a handler around which everything is the same: an id, a panic
// that becomes a 500, one line of log, the metrics.
func (s *server) endpoint(route string, handle func(*gin.Context, *request) error) gin.HandlerFunc {
	counted := s.Metrics.of(route)
	return func(c *gin.Context) {
		x := exchanges.Get().(*request)
		x.reset(route, s.Clock.Now())
		h := c.Writer.Header()
		h["X-Request-Id"] = []string{x.requestText}
		h["X-Content-Type-Options"] = noSniff
		if err := s.protect(c, x, handle); err != nil {
			s.refuse(c, x, err)
		}
		s.finish(c, x, counted)
		x.cause = nil
		exchanges.Put(x)
	}
}

var noSniff = []string{"nosniff"}

func (x *request) reset(route string, now time.Time) {
	*x = request{route: route, start: now, requestID: id.New(now), body: x.body[:0], answer: x.answer[:0], line: x.line[:0]}
	x.requestText = id.Format(id.Request, x.requestID)
}

// protect turns a panic into an error. The stack goes to the log, the value of
// the panic does not: it may hold anything.
func (s *server) protect(c *gin.Context, x *request, handle func(*gin.Context, *request) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("panic", "request_id", x.requestText, "route", x.route, "stack", string(debug.Stack()))
			err = errPanicking
		}
	}()
	return handle(c, x)
}

// readBody reads at most MaxBody bytes.
func (x *request) readBody(c *gin.Context) error {
	if c.Request.ContentLength > MaxBody {
		return errTooLarge
	}
	r := c.Request.Body
	if c.Request.ContentLength < 0 { // a body with a declared length ends there by itself
		r = http.MaxBytesReader(c.Writer, r, MaxBody)
	}
	for {
		if len(x.body) == cap(x.body) {
			x.body = append(x.body, 0)[:len(x.body)]
		}
		n, err := r.Read(x.body[len(x.body):cap(x.body)])
		x.body = x.body[:len(x.body)+n]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return unread(c, err)
		}
	}
}

// unread says why a body could not be read.
func unread(c *gin.Context, err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return errTooLarge
	}
	// Too slow, half-closed, or a broken chunk (D26).
	c.Writer.Header()["Connection"] = []string{"close"}
	return errCutOff
}

func (s *server) finish(c *gin.Context, x *request, counted *routeMetrics) {
	took := s.Clock.Now().Sub(x.start)
	status := c.Writer.Status()
	counted.observe(answer{status, x.outcome}, took)
	if status < http.StatusInternalServerError {
		if s.AccessLog != nil {
			s.AccessLog.write(x, method(c.Request.Method), status, took)
		}
		return
	}
	attrs := []any{
		"request_id", x.requestText, "method", method(c.Request.Method), "route", x.route, "status", status,
		"outcome", x.outcome, "duration_us", took.Microseconds(),
	}
	if x.partner != uuid.Nil {
		attrs = append(attrs, "partner", id.Format(id.Partner, x.partner))
	}
	if x.cause != nil {
		attrs = append(attrs, "error", x.cause.Error())
	}
	s.Log.Error("request", attrs...)
}

// method keeps made-up methods, which are the client's free text, out of the log.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "other"
}

// countedByServer is how long an answer is surely given its length by net/http,
// for less than a header of our own costs; longer ones it would send in chunks.
const countedByServer = 1 << 10

// write sends x.answer.
func (x *request) write(c *gin.Context, status int) {
	h := c.Writer.Header()
	h["Content-Type"] = contentJSON
	h["Cache-Control"] = noStore
	if len(x.answer) > countedByServer {
		h["Content-Length"] = []string{strconv.Itoa(len(x.answer))}
	}
	c.Writer.WriteHeader(status)
	c.Writer.Write(x.answer) // a client that hung up cannot be told
}

var (
	contentJSON = []string{"application/json; charset=utf-8"}
	noStore     = []string{"no-store"}
)
