// Package admin is the console: its routes, sessions, forms, and the view models
// that the templates show. It decides nothing that a domain package decides; what a
// person may do it asks authz, route by route.
package admin

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
	"github.com/pingpost/pingpost/internal/jobs"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/internal/snapshot"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// Options are what the console is built from. All are required.
type Options struct {
	Environment    string // "production" or "development"
	Clock          clock.Clock
	Log            *slog.Logger
	Access         *snapshot.Holder[authz.Access]
	Staff          *staff.Service
	Audit          *audit.Log
	Partners       *partners.Service
	Prices         *ratecard.Service
	Reporting      *reporting.Reader
	Leads          *leads.Reader
	Payouts        *payouts.Service
	Reconcile      *reconcile.Service
	Jobs           *jobs.Queue
	PublicURL      string             // origin of the base URLs handed to partners
	DefaultSigning models.SigningMode // of partners without their own
	RefusalsKept   int                // for each partner
	TrustedProxies []netip.Prefix
}

// Console answers on the admin listener.
type Console struct {
	Options
	assets   templateAssets
	compress func(http.Handler) http.HandlerFunc
}

// requestWithin bounds the work of one page, longWithin that of a file on its way in
// or out.
const (
	requestWithin = 30 * time.Second
	longWithin    = time.Hour
)

// New builds the console's handler. Its error is for the operator.
func New(o Options) (http.Handler, error) {
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
	for _, r := range c.routes() {
		mux.Handle(r.method+" "+r.path, c.serve(r))
	}
	mux.Handle("/", c.serve(route{path: "/", open: true, handle: func(k *call) error { return k.noRoute(mux) }}))
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(c.serve(route{open: true, handle: func(*call) error { return errForeign }}))
	return c.secure(guard.Handler(mux)), nil
}

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

func (c *Console) production() bool { return c.Environment == "production" }

var errHandled = errors.New("answered already")

// noRoute answers what no route takes: 405 where another method would do.
func (k *call) noRoute(mux *http.ServeMux) error {
	var allow []string
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := k.r.Clone(k.r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != "/" && pattern != "" {
			allow = append(allow, method)
		}
	}
	if len(allow) == 0 {
		return errNoPage
	}
	k.w.Header().Set("Allow", strings.Join(allow, ", "))
	return errMethod
}
