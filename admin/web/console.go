// Package web contains the code that all pages of the console share. It checks the permissions of
// routes, loads the user, handles forms and errors, and builds the layout.
package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzhttp"

	"github.com/pingpost/pingpost/admin/assets"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
	"github.com/pingpost/pingpost/templates/ui"
)

// New returns the handler of the console.
func New(o Options, routes []Route) (http.Handler, error) {
	compress, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false))
	if err != nil {
		return nil, err
	}
	engine := httpserver.NewEngine()
	c := &Console{Options: o, assets: assetURLs(), compress: compress, crossOrigin: http.NewCrossOriginProtection()}
	c.http = &httpserver.Listener{
		Clock:     o.Clock,
		Log:       o.Log,
		AccessLog: o.AccessLog,
		Metrics:   o.Metrics,
		Clients:   o.Clients,
		Tracer:    o.Tracer,
		Reject:    c.reject,
	}
	engine.Use(c.secure, c.rejectCrossSite())
	engine.NoRoute(c.serve(Route{Open: true, Handle: func(*Request) error { return ErrNotFound }}))
	engine.NoMethod(c.serve(Route{Open: true, Handle: rejectMethod}))
	httpserver.Get(engine, "/assets/*file", c.http.Endpoint("/assets", func(g *gin.Context, rec *httpserver.Record) error {
		rec.Outcome = outcomeOK
		assets.Handler().ServeHTTP(g.Writer, g.Request)
		return nil
	}))
	for _, r := range routes {
		if r.Method == http.MethodGet {
			httpserver.Get(engine, r.pattern(), c.serve(r))
		} else {
			engine.Handle(r.Method, r.pattern(), c.serve(r))
		}
	}
	return engine, nil
}

func assetURLs() ui.Assets {
	return ui.Assets{
		Style:  assets.URL("console.css"),
		HTMX:   assets.URL("htmx.min.js"),
		Script: assets.URL("console.js"),
		Icon:   assets.URL("icon.svg"),
	}
}

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

const requestKey = "console.request"

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

// reject shows an error page after a panic.
func (c *Console) reject(g *gin.Context, rec *httpserver.Record, _ error) {
	if k, ok := g.Get(requestKey); ok {
		k.(*Request).fail(errBroken)
		return
	}
	c.request(g, rec, Route{}).fail(errBroken)
}

// rejectCrossSite returns middleware that rejects forms submitted by other sites.
func (c *Console) rejectCrossSite() gin.HandlerFunc {
	reject := c.serve(Route{Open: true, Handle: func(*Request) error { return errCrossSite }})
	return func(g *gin.Context) {
		if c.crossOrigin.Check(g.Request) != nil {
			reject(g)
			g.Abort()
		}
	}
}

// rejectMethod responds with 405 and omits HEAD from the Allow header.
func rejectMethod(k *Request) error {
	allow := slices.DeleteFunc(strings.Split(k.W.Header().Get("Allow"), ", "),
		func(m string) bool { return m == http.MethodHead })
	slices.Sort(allow)
	k.W.Header().Set("Allow", strings.Join(allow, ", "))
	return errMethod
}

func (c *Console) secure(g *gin.Context) {
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	h := g.Writer.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=()")
	h.Set("Cache-Control", "no-store")
	if c.production() {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
