package web

import (
	"io"
	"net/http"

	"github.com/pingpost/pingpost/internal/base/clock"
)

// extendDeadlines extends the deadlines of an upload or download. Without this, the server's timeouts
// would apply, and they count from the start of the request. Stalled connections still time out.
func (k *Request) extendDeadlines() {
	// Connection deadlines use the system clock, not the service's clock.
	until, conn := clock.System{}.Now().Add(requestTimeout), http.NewResponseController(k.W)
	_ = conn.SetReadDeadline(until) // not supported by all writers
	_ = conn.SetWriteDeadline(until)
}

// AllowSlowBody lifts the time limit for the request body, as long as data keeps arriving.
func (k *Request) AllowSlowBody() { k.R.Body = slowBody{k, k.R.Body} }

// slowBody is a request body that extends the deadlines with each read.
type slowBody struct {
	k    *Request
	body io.ReadCloser
}

func (b slowBody) Read(p []byte) (int, error) {
	b.k.extendDeadlines()
	return b.body.Read(p)
}

func (b slowBody) Close() error { return b.body.Close() }

// SendCSV responds with a CSV file, like sendFile.
func (k *Request) SendCSV(name string, write func(to io.Writer) error) error {
	return k.sendFile(name+".csv", "text/csv; charset=utf-8", write)
}

// sendFile responds with a file, without a time limit for the whole file. If write fails before the first
// byte, sendFile returns the error. If write fails later, sendFile aborts the connection, so that the client
// does not mistake the file for a complete one.
func (k *Request) sendFile(name, contentType string, write func(to io.Writer) error) error {
	k.extendDeadlines()
	a := &fileResponse{k: k, name: name, contentType: contentType}
	err := write(a)
	if err == nil || !a.begun {
		return err
	}
	k.console.Log.Warn("cannot send a file", "request_id", k.By.RequestID, "route", k.Route.Path, "error", err.Error())
	panic(http.ErrAbortHandler)
}

// SendZIP responds with a ZIP file, like sendFile.
func (k *Request) SendZIP(name string, write func(to io.Writer) error) error {
	return k.sendFile(name+".zip", "application/zip", write)
}

// fileResponse sends a file. It sets the headers when the first byte is written.
type fileResponse struct {
	k                 *Request
	name, contentType string
	begun             bool
}

func (a *fileResponse) Write(p []byte) (int, error) {
	if !a.begun {
		a.begun = true
		h := a.k.W.Header()
		h.Set("Content-Type", a.contentType)
		h.Set("Content-Disposition", `attachment; filename="`+a.name+`"`)
	}
	a.k.extendDeadlines()
	return a.k.W.Write(p)
}
