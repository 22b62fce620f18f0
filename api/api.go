// Package api is the partner API: routes, wire types, and the one map from
// faults to HTTP. It decides nothing: what a ping or post means is intake's.
package api

import (
	"log/slog"
	"net/http"
	"net/netip"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/httpserver"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// MaxBody is the largest request body in bytes (D22).
const MaxBody = 64 << 10

// Options are what the API is built from. All but SupportContact,
// TrustedProxies and AccessLog are required.
type Options struct {
	Intake         *intake.Intake
	Partners       *partners.Service // knows the links to partners' own pages
	Taxonomy       *pricingrules.Taxonomy
	Markets        *pricingrules.Markets
	DefaultMode    models.SigningMode // of partners without their own
	PublicURL      string             // the origin that the documentation names
	SupportContact string             // an e-mail address or a URL, for the documentation; "" for none
	TrustedProxies []netip.Prefix
	Clock          clock.Clock
	Log            *slog.Logger
	AccessLog      *httpserver.AccessLog // nil for none
	Metrics        *httpserver.Metrics
}

// partnerRoute is the address of a partner's own documentation.
const partnerRoute = "/partner/:token"

// server answers requests; *gin.Context travels no further than its methods.
type server struct {
	Options
	pages *partnerPages
	http  *httpserver.Listener
}

// New builds the handler of the api listener.
func New(o Options) (http.Handler, error) {
	pages, err := newPartnerPages(o)
	if err != nil {
		return nil, err
	}
	s := &server{o, pages, &httpserver.Listener{Clock: o.Clock, Log: o.Log, AccessLog: o.AccessLog, Metrics: o.Metrics}}
	engine, err := httpserver.NewEngine(o.TrustedProxies)
	if err != nil {
		return nil, err
	}
	engine.NoRoute(s.http.Endpoint("none", s.notFound, s.refuse))
	engine.NoMethod(s.http.Endpoint("none", s.methodNotAllowed, s.refuse))

	ping, post := s.http.Endpoint("ping", s.ping, s.refuse), s.http.Endpoint("post", s.post, s.refuse)
	for _, prefix := range []string{"", "/p/:slug"} {
		engine.POST(prefix+"/api/lead/ping", ping)
		engine.POST(prefix+"/api/lead/post", post)
	}
	// The route and never the path goes to the log and the metrics: the token is a secret.
	page := s.http.Endpoint(partnerRoute, s.partnerPage, s.refuse)
	httpserver.Get(engine, partnerRoute, page)
	documents, err := s.documents()
	if err != nil {
		return nil, err
	}
	for path, d := range documents {
		httpserver.Get(engine, path, s.http.Endpoint(path, d.serve, s.refuse))
	}
	return engine, nil
}
