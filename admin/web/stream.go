package web

import (
	"io"
	"net/http"

	"github.com/pingpost/pingpost/internal/clock"
)

// extendDeadlines lets a long request go on: the server's timeouts are meant for pages,
// and count from the request's beginning. A connection on which nothing moves any more
// is cut off as any other.
func extendDeadlines(k *Request) {
	// The connection's deadlines are the machine's, whatever the service's clock says.
	until, conn := clock.System{}.Now().Add(requestTimeout), http.NewResponseController(k.W)
	_ = conn.SetReadDeadline(until) // what has no deadlines needs none moved
	_ = conn.SetWriteDeadline(until)
}

// AllowSlowBody lets the request's body take as long as it needs, while it keeps coming.
func AllowSlowBody(k *Request) { k.R.Body = slowBody{k, k.R.Body} }

// slowBody is a request's body that may take long to come.
type slowBody struct {
	k    *Request
	body io.ReadCloser
}

func (b slowBody) Read(p []byte) (int, error) {
	extendDeadlines(b.k)
	return b.body.Read(p)
}

func (b slowBody) Close() error { return b.body.Close() }

// SendCSV answers with a file that may take long to go. What goes wrong before its first
// byte is told on a page. What breaks off later is no file: the connection ends without
// the end that a whole one has.
func SendCSV(k *Request, name string, write func(to io.Writer) error) error {
	extendDeadlines(k)
	a := &fileResponse{k: k, name: name + ".csv"}
	err := write(a)
	if err == nil || !a.begun {
		return err
	}
	k.console.Log.Warn("a file was not sent whole", "request_id", k.By.RequestID, "route", k.Route.Path, "error", err.Error())
	panic(http.ErrAbortHandler)
}

// fileResponse sends a file and sets its headers with the first byte.
type fileResponse struct {
	k     *Request
	name  string
	begun bool
}

func (a *fileResponse) Write(p []byte) (int, error) {
	if !a.begun {
		a.begun = true
		h := a.k.W.Header()
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", `attachment; filename="`+a.name+`"`)
	}
	extendDeadlines(a.k)
	return a.k.W.Write(p)
}
