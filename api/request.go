package api

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/httpserver"
)

// Outcomes of the HTTP layer itself.
var (
	errTooLarge = apperr.New(apperr.TooLarge, "too_large", "Payload Too Large")
	errNotFound = apperr.New(apperr.NotFound, "not_found", "Not Found")
	errNotPost  = apperr.New(apperr.Invalid, "method", "Method Not Allowed")
	errCutOff   = apperr.New(apperr.Incomplete, "incomplete", "Request Timeout")
)

// readBody reads at most MaxBody bytes.
func readBody(c *gin.Context, x *httpserver.Request) error {
	if c.Request.ContentLength > MaxBody {
		return errTooLarge
	}
	r := c.Request.Body
	if c.Request.ContentLength < 0 { // a body with a declared length ends there by itself
		r = http.MaxBytesReader(c.Writer, r, MaxBody)
	}
	for {
		if len(x.Body) == cap(x.Body) {
			x.Body = append(x.Body, 0)[:len(x.Body)]
		}
		n, err := r.Read(x.Body[len(x.Body):cap(x.Body)])
		x.Body = x.Body[:len(x.Body)+n]
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

// countedByServer is how long an answer is surely given its length by net/http,
// for less than a header of our own costs; longer ones it would send in chunks.
const countedByServer = 1 << 10

// write sends x.Answer.
func write(c *gin.Context, x *httpserver.Request, status int) {
	h := c.Writer.Header()
	h["Content-Type"] = contentJSON
	h["Cache-Control"] = noStore
	if len(x.Answer) > countedByServer {
		h["Content-Length"] = []string{strconv.Itoa(len(x.Answer))}
	}
	c.Writer.WriteHeader(status)
	c.Writer.Write(x.Answer) //nolint:errcheck // the client is gone
}

var (
	contentJSON = []string{"application/json; charset=utf-8"}
	noStore     = []string{"no-store"}
)
