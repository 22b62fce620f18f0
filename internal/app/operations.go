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

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
)

const (
	inspectTimeout = time.Second
	// maxSkew is the largest accepted difference between this machine's clock and the
	// database's.
	maxSkew = 5 * time.Second
)

// operations returns the handlers of the listener for health checks and metrics, and of the listener for
// profiles. They have no access log, because frequent health checks would fill the log.
func (a *App) operations() (ops, profiles *gin.Engine) {
	ops, profiles = httpserver.NewEngine(), httpserver.NewEngine()
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
	serve := func(engine *gin.Engine, path string, handle http.HandlerFunc) {
		httpserver.Get(engine, path, l.Endpoint(path, func(c *gin.Context, rec *httpserver.Record) error {
			rec.Outcome = "ok"
			handle(c.Writer, c.Request)
			return nil
		}))
	}
	check := func(path string, states func(context.Context) checkStates) {
		httpserver.Get(ops, path, l.Endpoint(path, func(c *gin.Context, rec *httpserver.Record) error {
			rec.Outcome = "ok"
			if !a.ready(c.Writer, states(c.Request.Context())) {
				rec.Outcome, rec.Expected = "not_ready", true
			}
			return nil
		}))
	}
	none := l.Endpoint("none", func(*gin.Context, *httpserver.Record) error { return errNoPage })
	ops.NoRoute(none)
	serve(ops, "/healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) }) //nolint:errcheck // the client is gone
	check("/readyz", a.checks)
	// Pings need neither the database nor a key wrapper, so load balancers must keep sending pings to a
	// node while either is unavailable.
	check("/readyz/ping", func(context.Context) checkStates { return a.pingChecks() })
	serve(ops, "/metrics", promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{}).ServeHTTP)
	profiles.NoRoute(none)
	serve(profiles, "/debug/pprof/*profile", profile)
	return ops, profiles
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

// pingChecks returns the states of the readiness checks for pings. The data of individual partners is not checked,
// because a problem with one partner must not affect the others.
func (a *App) pingChecks() checkStates {
	states := checkStates{"rate_card": stateOK, "directory": stateOK}
	if a.card.Get() == nil {
		states["rate_card"] = checkState{"not_loaded", "not loaded"}
	}
	if a.directory.Get() == nil {
		states["directory"] = checkState{"not_loaded", "not loaded"}
	}
	return states
}

// checks is like pingChecks, but also runs the checks for posts.
func (a *App) checks(ctx context.Context) checkStates {
	states := a.pingChecks()
	states["platform_keys"] = a.platformKeysState()
	states["database"], states["commits"], states["schema"], states["clock"] = stateOK, *a.readiness.commits.Load(),
		stateOK, stateOK
	states["partitions"] = *a.readiness.partitions.Load()
	if a.api != nil { // otherwise the node stores no leads
		states["key_wrapper"], states["wrapping_key"], states["storing"] = a.keys.state(), stateUnknown, stateOK
		if err := a.leads.Failing(); err != nil {
			states["storing"] = checkState{"failed", err.Error()}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	found, err := a.db.Inspect(ctx)
	if err != nil {
		states["database"] = checkState{"not_responding", "does not respond: " + err.Error()}
		for _, check := range []string{"commits", "schema", "clock", "partitions"} {
			states[check] = stateUnknown
		}
		return states
	}
	switch {
	case !a.loaded.Load():
		states["database"] = checkState{"not_loaded", "not loaded yet"}
	case found.ReadOnly:
		states["database"] = checkState{"read_only", "read-only"}
	}
	if err := found.CheckSchema(); err != nil {
		states["schema"] = checkState{"incompatible", err.Error()}
	}
	if keys := a.checkWrappingKeys(ctx); a.api != nil {
		states["wrapping_key"] = keys.own
	}
	skew := clock.System{}.Now().Sub(found.Clock)
	a.readiness.skew.Set(skew.Seconds())
	a.readiness.schema.Set(float64(found.Schema.Version))
	if skew.Abs() > maxSkew {
		states["clock"] = checkState{
			"differs", "differs from the database's by " + skew.Abs().Round(time.Millisecond).String(),
		}
	}
	return states
}

// platformKeysState lists the signing secrets whose platform key is not configured. A damaged secret affects only its
// partner, so it is a warning (decision 73).
func (a *App) platformKeysState() checkState {
	directory := a.directory.Get()
	if directory == nil || !directory.ServesPosts() {
		return stateUnknown
	}
	if unread := directory.UnreadableSecrets(); len(unread) > 0 {
		return checkState{
			"key_missing", firstFew(unread) + " cannot be decrypted; check keys.platform_keys for a missing key",
		}
	}
	return stateOK
}

// ready writes the response to a health check, and reports whether the node is ready.
func (a *App) ready(w http.ResponseWriter, states checkStates) bool {
	if a.draining.Load() {
		states["draining"] = checkState{"stopping", "the node is stopping"}
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
		Checks   checkStates       `json:"checks"`
		Warnings map[string]string `json:"warnings,omitempty"` // the node is ready in spite of them
	}{ready, states, a.warnings()})
	return ready
}

// damageAdvice explains what to do about damaged secrets.
const damageAdvice = " cannot be decrypted although its platform key is configured, so posts signed with it get 401: revoke it and create a new one"

// warnings returns problems that do not make the node unready.
func (a *App) warnings() map[string]string {
	all := map[string]string{}
	if state := *a.erasures.state.Load(); state != stateOK && state != stateUnknown {
		all["erasure_journal"] = state.text
	}
	if warning := a.wrappingKeys.last.Load().warning(); warning != "" {
		all["lead_keys"] = warning
	}
	if d := a.directory.Get(); d != nil && len(d.DamagedSecrets()) > 0 {
		all["secrets"] = firstFew(d.DamagedSecrets()) + damageAdvice
	}
	return all
}

// firstFew lists up to three names, followed by the number of further names: "a, b, c and 2 more".
func firstFew(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
