package admin

import (
	"io"
	"net/http"

	"github.com/pingpost/pingpost/internal/clock"
)

// stillMoving lets a long request go on: the server's time-outs are meant for pages,
// and count from the request's beginning. A connection on which nothing moves any more
// is cut off as any other.
func (k *call) stillMoving() {
	// The connection's deadlines are the machine's, whatever the service's clock says.
	until, conn := clock.System{}.Now().Add(requestWithin), http.NewResponseController(k.w)
	_ = conn.SetReadDeadline(until) // what has no deadlines needs none moved
	_ = conn.SetWriteDeadline(until)
}

// longBody is a request's body that may take long to come.
type longBody struct {
	k    *call
	body io.ReadCloser
}

func (b longBody) Read(p []byte) (int, error) {
	b.k.stillMoving()
	return b.body.Read(p)
}

func (b longBody) Close() error { return b.body.Close() }

// longAnswer is an answer that may take long to go.
type longAnswer struct{ k *call }

func (a longAnswer) Write(p []byte) (int, error) {
	a.k.stillMoving()
	return a.k.w.Write(p)
}
