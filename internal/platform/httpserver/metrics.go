package httpserver

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts requests by route or area and measures their duration. A route is identified by its pattern,
// because clients can request any path.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	label    string                    // "route" or "area"
	group    func(route string) string // returns the value of the label
}

// NewMetrics registers the metrics <prefix>_requests_total and <prefix>_request_duration_seconds of a
// listener. The last parameter is the name of the listener in the help text, for example "the partner
// API".
func NewMetrics(reg prometheus.Registerer, prefix, to string) *Metrics {
	buckets := []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5}
	return newMetrics(reg, prefix, to, "route", buckets, func(route string) string { return route })
}

// NewAreaMetrics is like NewMetrics, but for a listener with so many routes that series for each would make
// scrapes large. It counts and measures requests by area, which is the first segment of the path.
func NewAreaMetrics(reg prometheus.Registerer, prefix, to string) *Metrics {
	return newMetrics(reg, prefix, to, "area", []float64{.01, .05, .25, 1, 5}, areaOf)
}

func newMetrics(
	reg prometheus.Registerer, prefix, to, label string, buckets []float64, group func(string) string,
) *Metrics {
	m := &Metrics{
		label: label,
		group: group,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "_requests_total", Help: "Requests to " + to + " by " + label + ", status and outcome.",
		}, []string{label, "status", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "_request_duration_seconds", Help: "Time from the arrival of a request to its response.",
			Buckets: buckets,
		}, []string{label}),
	}
	reg.MustRegister(m.requests, m.duration)
	return m
}

// areaOf returns the area of a route: /partners for /partners/{id}.
func areaOf(route string) string {
	path, isPath := strings.CutPrefix(route, "/")
	if !isPath {
		return route
	}
	first, _, _ := strings.Cut(path, "/")
	return "/" + strings.TrimSuffix(first, "{$}")
}

// This method returns the metrics of a route. It is called once for each route, because a lookup for
// each request would take too long. The histogram is created when the route is first requested, so that
// scrapes do not contain empty ones.
func (m *Metrics) of(route string) *routeMetrics {
	return &routeMetrics{
		requests: m.requests.MustCurryWith(prometheus.Labels{m.label: m.group(route)}),
		duration: sync.OnceValue(func() prometheus.Observer { return m.duration.WithLabelValues(m.group(route)) }),
	}
}

type routeMetrics struct {
	requests *prometheus.CounterVec
	duration func() prometheus.Observer
	answers  sync.Map // maps an answer to its prometheus.Counter, which is faster than a lookup by labels
}

// answer is the status and outcome of a request. Both come from small fixed sets.
type answer struct {
	status  int
	outcome string
}

func (r *routeMetrics) observe(a answer, took time.Duration) {
	counter, known := r.answers.Load(a)
	if !known {
		counter, _ = r.answers.LoadOrStore(a, r.requests.WithLabelValues(strconv.Itoa(a.status), a.outcome))
	}
	counter.(prometheus.Counter).Inc()
	r.duration().Observe(took.Seconds())
}
