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

// sendCSV answers with a file that may take long to go. What goes wrong before its first
// byte is told on a page. What breaks off later is no file: the connection ends without
// the end that a whole one has.
func (k *call) sendCSV(name string, write func(to io.Writer) error) error {
	k.stillMoving()
	a := &fileAnswer{k: k, name: name + ".csv"}
	err := write(a)
	if err == nil || !a.begun {
		return err
	}
	k.Log.Warn("a file was not sent whole", "request_id", k.by.RequestID, "route", k.route.path, "error", err.Error())
	panic(http.ErrAbortHandler)
}

// fileAnswer is a file from its first byte on.
type fileAnswer struct {
	k     *call
	name  string
	begun bool
}

func (a *fileAnswer) Write(p []byte) (int, error) {
	if !a.begun {
		a.begun = true
		h := a.k.w.Header()
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", `attachment; filename="`+a.name+`"`)
	}
	a.k.stillMoving()
	return a.k.w.Write(p)
}
