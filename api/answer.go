package api

import (
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/pingpost/pingpost/internal/httpserver"
)

// countedByServer is the size in bytes up to which net/http sets a response's Content-Length
// itself. Setting it here would take longer. net/http sends longer responses in chunks unless their
// Content-Length is set.
const countedByServer = 1 << 10

// write sends rec.Answer with the status.
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
