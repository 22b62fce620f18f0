package web

import (
	"io"
	"net/http"
	"strconv"

	"github.com/a-h/templ"
	"github.com/klauspost/compress/gzhttp"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/templates/ui"
)

// Show responds with a page, compressed if the client accepts that. It always returns nil, so that
// handlers can end with "return k.Show(…)".
func (k *Request) Show(status int, page templ.Component) error {
	if k.restored != nil {
		page = k.restoredPage(page)
	}
	if k.isCrossSiteNavigation() {
		k.W.Header().Set(gzhttp.HeaderNoCompression, "cross-site")
	}
	k.console.compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		// The wrapper hides Flush. If templ flushed, even the smallest pages would be compressed.
		ctx := ui.WithNotice(ui.WithFormKey(r.Context(), k.FormKey()), k.hiddenNotice())
		if err := page.Render(ctx, struct{ io.Writer }{w}); err != nil {
			k.console.Log.Debug("cannot send a page", "request_id", k.By.RequestID, "error", err.Error())
		}
	})).ServeHTTP(k.W, k.R)
	return nil
}

// ShowSecret responds with a page that shows a secret. The page is not compressed, because the size
// of a compressed page reveals whether text occurs in it twice.
func (k *Request) ShowSecret(status int, page templ.Component) error {
	k.W.Header().Set(gzhttp.HeaderNoCompression, "secret")
	return k.Show(status, page)
}

// Redirect redirects to another page with status 303. It always returns nil, so that handlers can
// end with "return k.Redirect(…)".
func (k *Request) Redirect(path string) error {
	k.announceSaved()
	http.Redirect(k.W, k.R, path, http.StatusSeeOther)
	return nil
}

// Resubmit redirects the form to another route with status 307, so that the browser posts it there and its values
// are not in a URL. It always returns nil.
func (k *Request) Resubmit(path string) error {
	http.Redirect(k.W, k.R, path, http.StatusTemporaryRedirect)
	return nil
}

// setRetryAfter sets the Retry-After header and returns its value in seconds.
func (k *Request) setRetryAfter(f *apperr.Error) (seconds int) {
	seconds = max(1, int(f.RetryAfter.Seconds()+0.999))
	k.W.Header().Set("Retry-After", strconv.Itoa(seconds))
	return seconds
}

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

// SendZIP responds with a ZIP file, like sendFile.
func (k *Request) SendZIP(name string, write func(to io.Writer) error) error {
	return k.sendFile(name+".zip", "application/zip", write)
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
