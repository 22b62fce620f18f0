package api

import (
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/pingpost/pingpost/internal/httpserver"
)

// countedByServer is how long an answer is surely given its length by net/http,
// for less than a header of our own costs; longer ones it would send in chunks.
const countedByServer = 1 << 10

// write sends rec.Answer.
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
