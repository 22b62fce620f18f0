package api

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics count requests by route pattern, never by raw path: a path is the
// client's free text.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// NewMetrics registers the API's metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pingpost_requests_total", Help: "Requests to the partner API by route, status and outcome.",
		}, []string{"route", "status", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pingpost_request_duration_seconds", Help: "Time from a request's arrival to its answer.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5},
		}, []string{"route"}),
	}
	reg.MustRegister(m.requests, m.duration)
	return m
}

func (m *Metrics) observe(route string, status int, outcome string, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status), outcome).Inc()
	m.duration.WithLabelValues(route).Observe(took.Seconds())
}
