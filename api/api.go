// Package api is the partner API: routes, wire types, and the one map from
// faults to HTTP. It decides nothing: what a ping or post means is intake's.
package api

import (
	"log/slog"
	"net/http"
	"net/netip"

	"github.com/gin-gonic/gin"

	"github.com/pingpost/pingpost/internal/clock"
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
	AccessLog      *AccessLog // nil for none
	Metrics        *Metrics
}

// partnerRoute is the address of a partner's own documentation.
const partnerRoute = "/partner/:token"

// server answers requests; *gin.Context travels no further than its methods.
type server struct {
	Options
	pages *partnerPages
}

// New builds the handler of the api listener.
func New(o Options) (http.Handler, error) {
	pages, err := newPartnerPages(o)
	if err != nil {
		return nil, err
	}
	s := &server{o, pages}
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false
	engine.RedirectFixedPath = false
	engine.RemoveExtraSlash = false
	engine.UseRawPath = true // an encoded slash is not a separator: what has one gets 404
	var proxies []string
	for _, p := range o.TrustedProxies {
		proxies = append(proxies, p.String())
	}
	// Not X-Real-IP besides, which gin would believe too: a proxy that sets the one
	// may pass on the other as a client sent it.
	engine.RemoteIPHeaders = []string{"X-Forwarded-For"}
	if err := engine.SetTrustedProxies(proxies); err != nil {
		return nil, err
	}
	engine.NoRoute(s.endpoint("none", s.notFound))
	engine.NoMethod(s.endpoint("none", s.methodNotAllowed))

	ping, post := s.endpoint("ping", s.ping), s.endpoint("post", s.post)
	for _, prefix := range []string{"", "/p/:slug"} {
		engine.POST(prefix+"/api/lead/ping", ping)
		engine.POST(prefix+"/api/lead/post", post)
	}
	// The route and never the path goes to the log and the metrics: the token is a secret.
	page := s.endpoint(partnerRoute, s.partnerPage)
	engine.GET(partnerRoute, page)
	engine.HEAD(partnerRoute, page)
	documents, err := s.documents()
	if err != nil {
		return nil, err
	}
	for path, d := range documents {
		handler := s.endpoint(path, d.serve)
		engine.GET(path, handler)
		engine.HEAD(path, handler)
	}
	return engine, nil
}
