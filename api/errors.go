package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
)

// errorBody is the body of an error response, as in the specification and decision 64.
type errorBody struct {
	OK          bool              `json:"ok"`
	Message     string            `json:"message"`
	Code        apperr.PublicCode `json:"code"`
	Errors      []apperr.Field    `json:"errors,omitempty"`
	Detail      *apperr.Detail    `json:"detail,omitempty"`
	LeadID      string            `json:"leadId,omitempty"`
	DeliveredAt string            `json:"deliveredAt,omitempty"`
	RequestID   string            `json:"requestId"`
}

// Errors of the HTTP layer itself.
var (
	errTooLarge = apperr.New(apperr.TooLarge, "too_large", "Payload Too Large").WithPublicCode(apperr.BodyTooLarge)
	errNotFound = apperr.New(apperr.NotFound, "not_found", "Not Found").WithPublicCode(apperr.URLNotFound)
	errNotPost  = apperr.New(apperr.WrongMethod, "method", "Method Not Allowed").WithPublicCode(apperr.MethodNotAllowed)
	errCutOff   = apperr.New(apperr.Incomplete, "incomplete", "Request Timeout").WithPublicCode(apperr.RequestIncomplete)
)

// writeError sends an error response. An error that is not an *apperr.Error is logged, and
// the partner receives only a general message.
func (s *server) writeError(c *gin.Context, rec *httpserver.Record, err error) {
	f := apperr.As(err)
	if f == nil {
		f = apperr.Wrap(err, apperr.Internal, "error", "An unexpected error occurred in the service")
	}
	rec.Outcome, rec.Cause = f.Reason, errors.Unwrap(f)
	if errors.Is(err, httpserver.ErrPanic) {
		s.recordOwn(c, rec, err)
	}
	body := errorBody{
		Message: f.Message, Code: cmp.Or(f.PublicCode, apperr.InternalError), Errors: f.Fields, Detail: f.Detail,
		LeadID: f.LeadID, RequestID: rec.IDText,
	}
	if !f.DeliveredAt.IsZero() {
		body.DeliveredAt = string(clock.AppendMillis(nil, f.DeliveredAt))
	}
	h := c.Writer.Header()
	if f.RetryAfter > 0 {
		h["Retry-After"] = []string{strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds())))}
	}
	answer, err := json.Marshal(body)
	if err != nil { // cannot happen with this struct
		answer = []byte(`{"ok":false,"message":"An unexpected error occurred in the service","code":"internal_error",` +
			`"requestId":"` + rec.IDText + `"}`)
	}
	rec.Answer = append(rec.Answer[:0], answer...)
	write(c, rec, f.Status())
}

func (s *server) methodNotAllowed(c *gin.Context, rec *httpserver.Record) error {
	// The router has set Allow, unless the request is for the ping or post endpoint. These accept only
	// POST.
	if c.Writer.Header().Get("Allow") == "" {
		c.Writer.Header().Set("Allow", http.MethodPost)
	}
	s.recordOwn(c, rec, errNotPost)
	return errNotPost
}
