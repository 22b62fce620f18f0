package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"path"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/httpserver"
)

const (
	inspectTimeout = time.Second
	// maxSkew is the largest accepted difference between this machine's clock and the
	// database's.
	maxSkew = 5 * time.Second
)

// operations returns the handler for health checks, metrics and profiles. It has no access log, because
// frequent health checks would fill the log.
func (a *App) operations() (http.Handler, error) {
	engine, err := httpserver.NewEngine(nil)
	if err != nil {
		return nil, err
	}
	reject := func(c *gin.Context, rec *httpserver.Record, err error) {
		rec.Outcome = "error"
		status := http.StatusInternalServerError
		if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
			rec.Outcome, status = f.Reason, http.StatusNotFound
		}
		http.Error(c.Writer, http.StatusText(status), status)
	}
	l := httpserver.Listener{
		Clock:   a.clock,
		Log:     a.log,
		Metrics: httpserver.NewMetrics(a.registry, "pingpost_ops", "the ops listener"),
		Reject:  reject,
	}
	get := func(path string, serve http.HandlerFunc) {
		handle := l.Endpoint(path, func(c *gin.Context, rec *httpserver.Record) error {
			rec.Outcome = "ok"
			serve(c.Writer, c.Request)
			return nil
		})
		httpserver.Get(engine, path, handle)
	}
	engine.NoRoute(l.Endpoint("none", func(*gin.Context, *httpserver.Record) error { return errNoPage }))
	get("/healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) }) //nolint:errcheck // the client is gone
	get("/readyz", func(w http.ResponseWriter, r *http.Request) { a.ready(w, r, a.checks(r.Context())) })
	// Pings need neither the database nor a key wrapper, so load balancers must keep sending pings to a
	// node while either is unavailable.
	get("/readyz/ping", func(w http.ResponseWriter, r *http.Request) { a.ready(w, r, a.pingChecks()) })
	get("/metrics", promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{}).ServeHTTP)
	get("/debug/pprof/*profile", profile)
	return engine, nil
}

var errNoPage = apperr.New(apperr.NotFound, "not_found", "Not Found")

func profile(w http.ResponseWriter, r *http.Request) {
	switch path.Base(r.URL.Path) {
	case "cmdline":
		pprof.Cmdline(w, r)
	case "profile":
		pprof.Profile(w, r)
	case "symbol":
		pprof.Symbol(w, r)
	case "trace":
		pprof.Trace(w, r)
	default:
		pprof.Index(w, r)
	}
}

const stateOK = "ok"

// pingChecks returns the results of the readiness checks for pings, by the name of the check. Each
// result is "ok" or a description of the problem. The data of individual partners is not checked,
// because a problem with one partner must not affect the others.
func (a *App) pingChecks() map[string]string {
	states := map[string]string{"rate_card": stateOK, "directory": stateOK}
	if a.card.Get() == nil {
		states["rate_card"] = "not loaded"
	}
	if a.directory.Get() == nil {
		states["directory"] = "not loaded"
	}
	return states
}

// checks is like pingChecks, but also runs the checks for posts.
func (a *App) checks(ctx context.Context) map[string]string {
	states := a.pingChecks()
	states["platform_keys"] = a.platformKeys()
	states["database"], states["commits"], states["schema"], states["clock"] = stateOK, *a.readiness.commits.Load(), stateOK, stateOK
	if a.api != nil { // otherwise the node stores no leads
		states["key_wrapper"] = a.keys.state()
	}
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	state, err := a.db.Inspect(ctx)
	if err != nil {
		states["database"], states["commits"], states["schema"], states["clock"], states["lead_keys"] = "does not respond", stateUnknown, stateUnknown, stateUnknown, stateUnknown
		states["database"] += ": " + err.Error()
		return states
	}
	switch {
	case !a.loaded.Load():
		states["database"] = "not loaded yet"
	case state.ReadOnly:
		states["database"] = "read-only"
	}
	if err := state.CheckSchema(); err != nil {
		states["schema"] = err.Error()
	}
	states["lead_keys"] = a.leadKeysState(ctx)
	if skew := (clock.System{}).Now().Sub(state.Clock).Abs(); skew > maxSkew {
		states["clock"] = "differs from the database's by " + skew.Round(time.Millisecond).String()
	}
	return states
}

// platformKeys returns "ok", or a message that lists the signing secrets that no configured platform key
// can decrypt.
func (a *App) platformKeys() string {
	directory := a.directory.Get()
	if directory == nil || !directory.ServesPosts() {
		return stateUnknown
	}
	if unread := directory.UnreadableSecrets(); len(unread) > 0 {
		return firstFew(unread) + " cannot be decrypted; check keys.platform_keys for a missing key"
	}
	return stateOK
}

func (a *App) ready(w http.ResponseWriter, _ *http.Request, states map[string]string) {
	if a.draining.Load() {
		states["draining"] = "the node is stopping"
	}
	ready := true
	for _, state := range states {
		ready = ready && state == stateOK
	}
	w.Header().Set("Content-Type", "application/json")
	if !ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	json.NewEncoder(w).Encode(struct { //nolint:errcheck // the client is gone
		Ready    bool              `json:"ready"`
		Checks   map[string]string `json:"checks"`
		Warnings map[string]string `json:"warnings,omitempty"` // the node is ready in spite of them
	}{ready, states, a.warnings()})
}

// warnings returns problems that do not affect pings and posts.
func (a *App) warnings() map[string]string {
	if state := *a.erasures.state.Load(); state != stateOK && state != stateUnknown {
		return map[string]string{"erasure_journal": state}
	}
	return nil
}

// firstFew lists up to three names, followed by the number of further names: "a, b, c and 2 more".
func firstFew(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
