// Package web contains the code that all pages of the console share. It checks the permissions of
// routes, loads the user, handles forms and errors, and builds the layout.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzhttp"

	"github.com/pingpost/pingpost/admin/assets"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/staff"
)

// Options contains the dependencies of all pages. All fields except AccessLog are required.
type Options struct {
	Environment string // "production" or "development"
	Clock       clock.Clock
	Log         *slog.Logger
	Access      *snapshot.Holder[authz.Access]
	Staff       *staff.Service
	Audit       *audit.Log
	Partners    *partners.Service           // for the names of partners
	Prices      *ratecard.Service           // for the titles of drafts
	Readable    func(context.Context) error // the reason why erasable data is hidden, or nil
	AccessLog   *httpserver.AccessLog       // nil disables it
	Metrics     *httpserver.Metrics
	Clients     *httpserver.Clients
}

// Console serves the routes of all areas.
type Console struct {
	Options
	http     *httpserver.Listener
	assets   templateAssets
	compress func(http.Handler) http.HandlerFunc

	crossOrigin *http.CrossOriginProtection
}

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

// Time limits for requests.
const (
	requestTimeout  = 30 * time.Second
	transferTimeout = time.Hour // for uploads and downloads
)

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

// Production reports whether the environment is production, where the console is served over HTTPS.
func (k *Request) Production() bool { return k.console.production() }

func (c *Console) production() bool { return c.Environment == "production" }

// ErrResponseWritten means that the handler has already written the response.
var ErrResponseWritten = errors.New("response already written")
