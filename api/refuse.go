package api

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/pingpost/pingpost/internal/fault"
)

// refusalBody is the specification's error response.
type refusalBody struct {
	OK          bool          `json:"ok"`
	Message     string        `json:"message"`
	Errors      []fault.Field `json:"errors,omitempty"`
	LeadID      string        `json:"leadId,omitempty"`
	DeliveredAt string        `json:"deliveredAt,omitempty"`
}

// statuses is the one map from a fault's code to an HTTP status.
var statuses = map[fault.Code]int{
	fault.Invalid:      http.StatusBadRequest,
	fault.Expired:      http.StatusBadRequest,
	fault.Unauthorized: http.StatusUnauthorized,
	fault.NotFound:     http.StatusNotFound,
	fault.Delivered:    http.StatusConflict,
	fault.Conflict:     http.StatusConflict,
	fault.Incomplete:   http.StatusRequestTimeout,
	fault.TooLarge:     http.StatusRequestEntityTooLarge,
	fault.TooMany:      http.StatusTooManyRequests,
	fault.Unavailable:  http.StatusServiceUnavailable,
	fault.Internal:     http.StatusInternalServerError,
}

func statusOf(f *fault.Error) int {
	if f.Is(errNotPost) {
		return http.StatusMethodNotAllowed
	}
	return statuses[f.Code]
}

// refuse answers an error. What is not a fault is ours: it is logged, and the
// partner learns that it happened and under which request id.
func (s *server) refuse(c *gin.Context, x *exchange, err error) {
	f := fault.As(err)
	if f == nil {
		f = fault.Wrap(err, fault.Internal, "error", "An unexpected failure in the service")
	}
	x.outcome, x.cause = f.Reason, errors.Unwrap(f)
	body := refusalBody{Message: f.Message, Errors: f.Fields, LeadID: f.LeadID}
	if f.Code == fault.Internal {
		body.Message += " (request " + x.requestText + ")"
	}
	if !f.DeliveredAt.IsZero() {
		body.DeliveredAt = string(appendTime(nil, f.DeliveredAt))
	}
	h := c.Writer.Header()
	if f.RetryAfter > 0 {
		h["Retry-After"] = []string{strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds())))}
	}
	answer, err := json.Marshal(body)
	if err != nil { // a struct of texts does not fail to marshal
		answer = []byte(`{"ok":false,"message":"An unexpected failure in the service"}`)
	}
	x.answer = append(x.answer[:0], answer...)
	x.write(c, statusOf(f))
}

func (s *server) notFound(*gin.Context, *exchange) error { return errNotFound }

func (s *server) methodNotAllowed(c *gin.Context, _ *exchange) error {
	// The router lists what the path takes; both endpoints take POST alone.
	if c.Writer.Header().Get("Allow") == "" {
		c.Writer.Header().Set("Allow", http.MethodPost)
	}
	return errNotPost
}
