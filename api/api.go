// Package api is the HTTP layer of the partner API: routes, wire types, and the mapping
// from errors to HTTP statuses. Package intake handles pings and posts.
package api

import (
	"log/slog"
	"net/http"

	"github.com/pingpost/pingpost/api/docs"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/evidence"
	"github.com/pingpost/pingpost/internal/evidence/pack"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
	"github.com/pingpost/pingpost/internal/platform/tracing"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/docs"
)

// MaxBody is the largest request body in bytes (decision 22).
const MaxBody = 64 << 10

// Options configures New. All fields except AccessLog are required.
type Options struct {
	Intake       *intake.Intake
	Partners     *partners.Service // resolves the links to partner pages
	Taxonomy     *pricingrules.Taxonomy
	DefaultMode  models.SigningMode // for partners without their own signing mode
	Settings     docs.Settings      // what the documentation states
	EvidenceKeys *snapshot.Holder[evidence.PublicKeys]
	Clock        clock.Clock
	Log          *slog.Logger
	AccessLog    *httpserver.AccessLog // nil for none
	Metrics      *httpserver.Metrics
	Clients      *httpserver.Clients
	Tracer       *tracing.Tracer // nil without traces
}

// server handles requests to the partner API.
type server struct {
	Options
	pages *docs.Pages
}

// New returns the handler for all requests to the partner API.
func New(o Options) (http.Handler, error) {
	pages, err := docs.New(docs.Options{
		Document:    Document(),
		Settings:    o.Settings,
		Taxonomy:    o.Taxonomy,
		DefaultMode: o.DefaultMode,
	})
	if err != nil {
		return nil, err
	}
	general, err := pages.General()
	if err != nil {
		return nil, err
	}
	industries, err := industryList(o.Taxonomy)
	if err != nil {
		return nil, err
	}
	engine := httpserver.NewEngine()
	s := &server{o, pages}
	l := &httpserver.Listener{
		Clock:     o.Clock,
		Log:       o.Log,
		AccessLog: o.AccessLog,
		Metrics:   o.Metrics,
		Clients:   o.Clients,
		Tracer:    o.Tracer,
		Reject:    s.writeError,
	}
	get := func(path string, handle httpserver.Handler) { httpserver.Get(engine, path, l.Endpoint(path, handle)) }

	engine.NoRoute(l.Endpoint("none", s.notFound))
	engine.NoMethod(l.Endpoint("none", s.methodNotAllowed))

	ping, post := l.Endpoint("ping", s.ping), l.Endpoint("post", s.post)
	engine.POST("/api/lead/ping", ping)
	engine.POST("/api/lead/post", post)
	engine.POST("/p/:slug/api/lead/ping", ping)
	engine.POST("/p/:slug/api/lead/post", post)

	get("/api/industries", publish(contentJSON[0], industries).serve)
	get("/openapi.yaml", publish("application/yaml; charset=utf-8", pages.Document).serve)
	get(pack.KeyPath, s.evidenceKeys)
	get("/", publish(contentHTML, view.Root).serve)
	get("/docs", publish(contentHTML, general).serve)
	get("/docs.css", publish("text/css; charset=utf-8", view.Stylesheet).serve)
	get("/docs.js", publish("text/javascript; charset=utf-8", view.Script).serve)
	// The log and the metrics contain the route instead of the path, because the token is a secret.
	get("/partner/:token", s.partnerPage)
	return engine, nil
}
