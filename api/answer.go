package api

import (
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/pingpost/pingpost/internal/platform/httpserver"
)

// countedByServer is the maximum size, in bytes, of a response for which net/http sets Content-Length.
// For a larger response, net/http could send the response in chunks, so the function write sets
// Content-Length.
const countedByServer = 1 << 10

func write(c *gin.Context, rec *httpserver.Record, status int) {
	h := c.Writer.Header()
	h["Content-Type"] = contentJSON
	h["Cache-Control"] = noStore
	if len(rec.Answer) > countedByServer {
		h["Content-Length"] = []string{strconv.Itoa(len(rec.Answer))}
	}
	c.Writer.WriteHeader(status)
	c.Writer.Write(rec.Answer) //nolint:errcheck // the client has disconnected
}

var (
	contentJSON = []string{"application/json; charset=utf-8"}
	noStore     = []string{"no-store"}
)
