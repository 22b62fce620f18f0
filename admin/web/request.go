package web

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"time"

	"github.com/a-h/templ"
	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzhttp"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/internal/httpserver"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

// Request is one request to the console: the user who sends it, and where their permission holds.
type Request struct {
	console *Console
	User
	W               http.ResponseWriter
	R               *http.Request
	Route           Route
	Now             time.Time
	Scope           scope.Scope // where the route's permission holds
	By              audit.Actor // the user, as the audit trail names them
	Notices         []Notice
	restored        *staff.SavedForm   // the values to restore in the page's form, or nil
	logged          *httpserver.Record // for the access log and the metrics
	responseWritten bool               // with a redirect to what an earlier submission created
}

// MaxForm bounds a form's size in bytes.
const MaxForm = 256 << 10

// serve is a route's handler: it finds out who asks, whether they may, and answers
// what the route's own function returns as an error.
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
		if err := k.answer(); err != nil {
			k.fail(err)
		}
		return nil
	})
}

const requestKey = "console.request"

// request is what the handler of a route works with.
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
	for _, p := range g.Params {
		k.R.SetPathValue(p.Key, p.Value)
	}
	k.By = audit.Actor{Name: audit.Anonymous.Name, RequestID: rec.IDText}
	if address, err := netip.ParseAddr(g.ClientIP()); err == nil {
		k.By.Address = address.Unmap().WithZone("").String()
	}
	rec.Outcome = outcomeOK
	g.Set(requestKey, k)
	return k
}

// outcomeOK is in the access log and the metrics for what was answered as it was asked for.
const outcomeOK = "ok"

// answer lets the person in and runs the route's handler.
func (k *Request) answer() error {
	if err := k.enter(); err != nil {
		return err
	}
	// A route with a limit of its own takes files, and reads them itself.
	if k.Route.Method == http.MethodPost && k.Route.Limit == 0 {
		if err := k.ParseForm(); err != nil {
			return err
		}
	}
	if err := submission(k); err != nil {
		return err
	}
	if err := restore(k); err != nil {
		return err
	}
	return k.Route.Handle(k)
}

// refuse answers a panic as any failure of ours.
func (c *Console) reject(g *gin.Context, rec *httpserver.Record, _ error) {
	if k, ok := g.Get(requestKey); ok {
		k.(*Request).fail(errBroken)
		return
	}
	c.request(g, rec, Route{}).fail(errBroken)
}

// enter lets the person in whom the cookie names, as far as the route wants it.
func (k *Request) enter() error {
	if token := sessionToken(k); token != "" {
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

// Show answers with a page, compressed where the client accepts that. It returns nil, so that
// handlers can return it.
func (k *Request) Show(status int, page templ.Component) error {
	if k.restored != nil {
		page = restoredPage(page, k.restored)
	}
	if k.isCrossSiteNavigation() {
		k.W.Header().Set(gzhttp.HeaderNoCompression, "cross-site")
	}
	k.console.compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		// templ flushes what it can flush, which would compress the smallest pages too.
		if err := page.Render(ui.WithFormKey(r.Context(), k.FormKey()), struct{ io.Writer }{w}); err != nil {
			k.console.Log.Debug("a page was not sent whole", "request_id", k.By.RequestID, "error", err.Error())
		}
	})).ServeHTTP(k.W, k.R)
	return nil
}

// ShowSecret answers with a page that shows a secret. It is never compressed, because the
// size of a compressed page gives away text that occurs in it twice.
func (k *Request) ShowSecret(status int, page templ.Component) error {
	k.W.Header().Set(gzhttp.HeaderNoCompression, "secret")
	return k.Show(status, page)
}

// isCrossSiteNavigation reports whether the browser says that another site made the request.
// That site may have chosen the address, and with it a part of the page.
func (k *Request) isCrossSiteNavigation() bool {
	switch k.R.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	return true
}

// Redirect answers a form with another page. It returns nil, so that handlers can return it.
func (k *Request) Redirect(path string) error {
	http.Redirect(k.W, k.R, path, http.StatusSeeOther)
	return nil
}

// ParseForm reads the form that was sent; what is no form is refused. Its fields may hold
// anything: what they are for judges them, and says so on the form. Handlers of routes
// without a limit of their own get the form parsed.
func (k *Request) ParseForm() error {
	if err := k.R.ParseForm(); err != nil {
		return badForm(err)
	}
	return nil
}
