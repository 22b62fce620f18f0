package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/a-h/templ"
	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzhttp"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

// Request is a request to the console, with the user who sent it and the user's scope.
type Request struct {
	console *Console
	User
	W               http.ResponseWriter
	R               *http.Request
	Route           Route
	Now             time.Time
	Scope           scope.Scope // the partners for which the user has the route's permission
	By              audit.Actor // the user, for the audit log
	Notices         []Notice
	restored        *staff.SavedForm   // the saved values of the page's form, or nil
	logged          *httpserver.Record // for the access log and the metrics
	responseWritten bool               // the response redirects to the object that an earlier submission created
	readable        func() error       // the reason why erasable data is hidden, or nil
	hidden          error              // the reason, if the response hides a value
}

// MaxForm is the maximum size of a form, in bytes.
const MaxForm = 256 << 10

// serve returns the handler for a route. The handler authenticates and authorizes the user, calls
// Route.Handle, and shows an error page if that fails.
func (c *Console) serve(rt Route) gin.HandlerFunc {
	name := rt.Path
	if name == "" {
		name = "none"
	}
	return c.http.Endpoint(name, func(g *gin.Context, rec *httpserver.Record) error {
		k := c.request(g, rec, rt)
		ctx, cancel := context.WithTimeout(g.Request.Context(), rt.within())
		defer cancel()
		k.R = k.R.WithContext(ctx)
		k.R.Body = http.MaxBytesReader(k.W, k.R.Body, max(MaxForm, rt.Limit))
		err := k.answer()
		if err != nil && errors.Is(g.Request.Context().Err(), context.Canceled) { // the user has left the page
			return http.ErrAbortHandler
		}
		if err != nil {
			k.fail(err)
		}
		return nil
	})
}

const requestKey = "console.request"

func (c *Console) request(g *gin.Context, rec *httpserver.Record, rt Route) *Request {
	k := &Request{
		console: c,
		User:    User{Access: c.Access.Get()},
		W:       g.Writer,
		R:       g.Request,
		Route:   rt,
		Now:     rec.Start,
		logged:  rec,
	}
	k.readable = sync.OnceValue(func() error { return c.Readable(k.R.Context()) })
	for _, p := range g.Params {
		k.R.SetPathValue(p.Key, p.Value)
	}
	k.By = audit.Actor{Name: audit.Anonymous.Name, RequestID: rec.IDText}
	if rec.Client.IsValid() {
		k.By.Address = rec.Client.String()
	}
	rec.Outcome = outcomeOK
	g.Set(requestKey, k)
	return k
}

// outcomeOK is the outcome of successful requests in the access log and the metrics.
const outcomeOK = "ok"

// answer checks access, parses the form and calls the route's handler.
func (k *Request) answer() error {
	if err := k.enter(); err != nil {
		return err
	}
	// Routes with their own limit accept files. Their handlers read the form themselves.
	if k.Route.Method == http.MethodPost && k.Route.Limit == 0 {
		if err := k.ParseForm(); err != nil {
			return err
		}
	}
	if err := k.submission(); err != nil {
		return err
	}
	if err := k.restore(); err != nil {
		return err
	}
	if err := k.showSaved(); err != nil {
		return err
	}
	return k.Route.Handle(k)
}

// reject shows an error page after a panic.
func (c *Console) reject(g *gin.Context, rec *httpserver.Record, _ error) {
	if k, ok := g.Get(requestKey); ok {
		k.(*Request).fail(errBroken)
		return
	}
	c.request(g, rec, Route{}).fail(errBroken)
}

// enter reads the session and checks that the user may use the route.
func (k *Request) enter() error {
	if token := k.sessionToken(); token != "" {
		find := k.console.Staff.Session
		if k.Route.live() {
			find = k.console.Staff.PeekSession
		}
		session, err := find(k.R.Context(), token)
		switch f := apperr.As(err); {
		case err == nil:
			k.Session = session
			k.By.Staff, k.By.Name = session.Staff.ID, session.Staff.Email
		case f == nil || f.Code != apperr.Unauthorized:
			return err
		}
	}
	if k.Route.Open {
		return nil
	}
	if want := k.Route.stage(); k.Session.Stage != want {
		return errSignIn
	}
	if k.Route.Needs == (authz.Permission{}) {
		return nil
	}
	if !k.May(k.Route.Needs) {
		return ErrForbidden
	}
	k.Scope, _ = k.ScopeOf(k.Route.Needs)
	k.By.Role = k.roleFor(k.Route.Needs)
	return nil
}

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

// isCrossSiteNavigation reports whether another site caused the request, by the rule for submitted
// forms. That site may have chosen the URL, and with it some of the text on the page.
func (k *Request) isCrossSiteNavigation() bool {
	form := k.R.WithContext(k.R.Context())
	form.Method = http.MethodPost // Check allows all requests with the method GET
	return k.console.crossOrigin.Check(form) != nil
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

// ParseForm parses the submitted form without checking the fields. It is called before the handlers
// of POST routes that do not set Route.Limit.
func (k *Request) ParseForm() error {
	if err := k.R.ParseForm(); err != nil {
		return badForm(err)
	}
	return nil
}
