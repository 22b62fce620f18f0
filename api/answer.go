package api

import (
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/pingpost/pingpost/internal/httpserver"
)

// countedByServer is the maximum size, in bytes, of a response for which write leaves Content-Length to
// net/http, because that is faster. For a larger response, write sets Content-Length, because net/http
// could otherwise send the response in chunks.
const countedByServer = 1 << 10

func write(c *gin.Context, rec *httpserver.Record, status int) {
	h := c.Writer.Header()
	h["Content-Type"] = contentJSON
	h["Cache-Control"] = noStore
	if len(rec.Answer) > countedByServer {
		h["Content-Length"] = []string{strconv.Itoa(len(rec.Answer))}
	}
	c.Writer.WriteHeader(status)
	c.Writer.Write(rec.Answer) //nolint:errcheck // the client is gone
}

var (
	contentJSON = []string{"application/json; charset=utf-8"}
	noStore     = []string{"no-store"}
)
