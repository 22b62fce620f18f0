package web

import (
	"io"
	"net/http"

	"github.com/pingpost/pingpost/internal/clock"
)

// stillMoving lets a long request go on: the server's time-outs are meant for pages,
// and count from the request's beginning. A connection on which nothing moves any more
// is cut off as any other.
func stillMoving(k *Request) {
	// The connection's deadlines are the machine's, whatever the service's clock says.
	until, conn := clock.System{}.Now().Add(requestWithin), http.NewResponseController(k.W)
	_ = conn.SetReadDeadline(until) // what has no deadlines needs none moved
	_ = conn.SetWriteDeadline(until)
}

// LongBody lets the request's body take as long as it needs, while it keeps coming.
func LongBody(k *Request) { k.R.Body = longBody{k, k.R.Body} }

// longBody is a request's body that may take long to come.
type longBody struct {
	k    *Request
	body io.ReadCloser
}

func (b longBody) Read(p []byte) (int, error) {
	stillMoving(b.k)
	return b.body.Read(p)
}

func (b longBody) Close() error { return b.body.Close() }

// SendCSV answers with a file that may take long to go. What goes wrong before its first
// byte is told on a page. What breaks off later is no file: the connection ends without
// the end that a whole one has.
func SendCSV(k *Request, name string, write func(to io.Writer) error) error {
	stillMoving(k)
	a := &fileAnswer{k: k, name: name + ".csv"}
	err := write(a)
	if err == nil || !a.begun {
		return err
	}
	k.console.Log.Warn("a file was not sent whole", "request_id", k.By.RequestID, "route", k.Route.Path, "error", err.Error())
	panic(http.ErrAbortHandler)
}

// fileAnswer is a file from its first byte on.
type fileAnswer struct {
	k     *Request
	name  string
	begun bool
}

func (a *fileAnswer) Write(p []byte) (int, error) {
	if !a.begun {
		a.begun = true
		h := a.k.W.Header()
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", `attachment; filename="`+a.name+`"`)
	}
	stillMoving(a.k)
	return a.k.W.Write(p)
}
