package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pingpost/pingpost/internal/clock"
)

const (
	inspectWithin = time.Second
	// maxSkew is how far this machine's clock and the database's may differ.
	maxSkew = 5 * time.Second
)

// operations is the handler of the ops listener.
func (a *App) operations() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { a.ready(w, r, a.checks(r.Context())) })
	// Pings need neither database nor key wrapper: a load balancer that took a
	// node away with either would lose pings for nothing.
	mux.HandleFunc("GET /readyz/ping", func(w http.ResponseWriter, r *http.Request) { a.ready(w, r, a.pingChecks()) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

const stateOK = "ok"

// pingChecks are what a ping needs; each is "ok" or what is wrong. What is wrong
// with one partner's rows is not: it must not take every node away from all others.
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

// checks are what a post needs besides.
func (a *App) checks(ctx context.Context) map[string]string {
	states := a.pingChecks()
	states["platform_keys"] = a.platformKeys()
	states["database"], states["commits"], states["schema"], states["clock"], states["key_wrapper"] = stateOK, *a.readiness.commits.Load(), stateOK, stateOK, a.keys.state()
	ctx, cancel := context.WithTimeout(ctx, inspectWithin)
	defer cancel()
	state, err := a.db.Inspect(ctx)
	if err != nil {
		states["database"], states["commits"], states["schema"], states["clock"], states["lead_keys"] = "does not answer", stateUnknown, stateUnknown, stateUnknown, stateUnknown
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

// platformKeys is "ok", or which signing secrets no configured key opens.
func (a *App) platformKeys() string {
	directory := a.directory.Get()
	if directory == nil || !directory.ServesPosts() {
		return stateUnknown
	}
	if unread := directory.UnreadableSecrets(); len(unread) > 0 {
		return few(unread) + " cannot be read: is a platform key missing?"
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
	json.NewEncoder(w).Encode(struct {
		Ready  bool              `json:"ready"`
		Checks map[string]string `json:"checks"`
	}{ready, states}) // a client that hung up cannot be told
}

// few names the first of many.
func few(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
