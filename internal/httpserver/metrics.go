package httpserver

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts requests and measures their duration by route. A route is identified by its pattern,
// because clients can request any path.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// NewMetrics registers the metrics <prefix>_requests_total and <prefix>_request_duration_seconds of a
// listener. The last parameter is the name of the listener in the help text, for example "the partner
// API".
func NewMetrics(reg prometheus.Registerer, prefix, to string) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "_requests_total", Help: "Requests to " + to + " by route, status and outcome.",
		}, []string{"route", "status", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "_request_duration_seconds", Help: "Time from the arrival of a request to its response.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5},
		}, []string{"route"}),
	}
	reg.MustRegister(m.requests, m.duration)
	return m
}

// This method returns the metrics of a route. It is called once for each route, because a lookup for
// each request would take too long.
func (m *Metrics) of(route string) *routeMetrics {
	return &routeMetrics{
		requests: m.requests.MustCurryWith(prometheus.Labels{"route": route}),
		duration: m.duration.WithLabelValues(route),
	}
}

type routeMetrics struct {
	requests *prometheus.CounterVec
	duration prometheus.Observer
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
	r.duration.Observe(took.Seconds())
}
