// Package web is what every page of the console shares: who is asking and what they
// may see, routes with their permission, forms, errors and the frame around a page.
package web

import (
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"github.com/pingpost/pingpost/admin/assets"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/snapshot"
	"github.com/pingpost/pingpost/internal/staff"
)

// Options are what every page needs. All are required.
type Options struct {
	Environment    string // "production" or "development"
	Clock          clock.Clock
	Log            *slog.Logger
	Access         *snapshot.Holder[authz.Access]
	Staff          *staff.Service
	Audit          *audit.Log
	Partners       *partners.Service // for partners' names
	TrustedProxies []netip.Prefix
}

// Console serves the routes of all areas.
type Console struct {
	Options
	assets   templateAssets
	compress func(http.Handler) http.HandlerFunc
}

// New builds the console's handler. Its error is for the operator.
func New(o Options, routes []Route) (http.Handler, error) {
	if err := assets.Check(); err != nil {
		return nil, err
	}
	compress, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false))
	if err != nil {
		return nil, err
	}
	c := &Console{Options: o, assets: assetURLs(), compress: compress}
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", assets.Handler())
	for _, r := range routes {
		mux.Handle(r.Method+" "+r.Path, c.serve(r))
	}
	mux.Handle("/", c.serve(Route{Path: "/", Open: true, Handle: func(k *Request) error { return k.noRoute(mux) }}))
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(c.serve(Route{Open: true, Handle: func(*Request) error { return errForeign }}))
	return c.secure(guard.Handler(mux)), nil
}

// requestWithin bounds the work of one page, longWithin that of a file on its way in
// or out.
const (
	requestWithin = 30 * time.Second
	longWithin    = time.Hour
)

// secure gives every answer the headers that keep a browser from doing more with it
// than show it.
func (c *Console) secure(next http.Handler) http.Handler {
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
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
		next.ServeHTTP(w, r)
	})
}

// Production reports whether the console is reached over HTTPS, as it is in production.
func (k *Request) Production() bool { return k.console.production() }

func (c *Console) production() bool { return c.Environment == "production" }

// ErrAnswered is what a handler returns when the response has been written already.
var ErrAnswered = errors.New("answered already")

// noRoute answers what no route takes: 405 where another method would do.
func (k *Request) noRoute(mux *http.ServeMux) error {
	var allow []string
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := k.R.Clone(k.R.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != "/" && pattern != "" {
			allow = append(allow, method)
		}
	}
	if len(allow) == 0 {
		return ErrNotFound
	}
	k.W.Header().Set("Allow", strings.Join(allow, ", "))
	return errMethod
}
