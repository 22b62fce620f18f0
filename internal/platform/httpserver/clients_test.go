package httpserver_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
)

const forwardedFor = "X-Forwarded-For"

// clientsServer serves one path, whose response is the client's address.
type clientsServer struct {
	http.Handler
	now *clock.Manual
	log *testkit.Log
	reg *prometheus.Registry
}

func newClientsServer(t *testing.T, trusted ...string) *clientsServer {
	t.Helper()
	var proxies []netip.Prefix
	for _, network := range trusted {
		proxies = append(proxies, netip.MustParsePrefix(network))
	}
	log, lines := testkit.NewLog()
	s := &clientsServer{now: clock.NewManual(testkit.StartTime()), log: lines, reg: prometheus.NewRegistry()}
	l := &httpserver.Listener{
		Clock: s.now, Log: log,
		Metrics: httpserver.NewMetrics(s.reg, "test", "the test's listener"),
		Clients: httpserver.NewClients(proxies, s.reg, log),
	}
	engine := httpserver.NewEngine()
	engine.GET("/address", l.Endpoint("/address", func(c *gin.Context, rec *httpserver.Record) error {
		c.String(http.StatusOK, rec.Client.String())
		return nil
	}))
	s.Handler = engine
	return s
}

func (s *clientsServer) address(peer string, header http.Header) string {
	r := httptest.NewRequest(http.MethodGet, "/address", nil)
	r.RemoteAddr, r.Header = peer, header
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Body.String()
}

// ignored returns the value of the metric and the peers that were logged.
func (s *clientsServer) ignored(t *testing.T) (count float64, peers []string) {
	t.Helper()
	families, err := s.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "pingpost_forwarded_for_ignored_total" {
			count = family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	for text := range strings.Lines(s.log.String()) {
		var line struct{ Level, Peer string }
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if line.Level == "WARN" {
			peers = append(peers, line.Peer)
		}
	}
	return count, peers
}

// Only X-Forwarded-For is trusted. Clients may have set other headers, which proxies pass on.
func TestOtherHeadersAreIgnored(t *testing.T) {
	t.Parallel()
	s := newClientsServer(t, "10.0.0.0/8")
	const proxy, client, claimed = "10.0.0.1", "192.0.2.7", "203.0.113.5"
	for name, c := range map[string]struct {
		header http.Header
		want   string
	}{
		"X-Real-IP":                      {http.Header{"X-Real-Ip": {claimed}}, proxy},
		"X-Real-IP with X-Forwarded-For": {http.Header{"X-Real-Ip": {claimed}, forwardedFor: {client}}, client},
		"X-Real-IP with an invalid X-Forwarded-For": {
			http.Header{"X-Real-Ip": {claimed}, forwardedFor: {"invalid"}}, proxy,
		},
		"headers of hosting platforms": {
			http.Header{"Cf-Connecting-Ip": {claimed}, "X-Appengine-Remote-Addr": {claimed}}, proxy,
		},
	} {
		if got := s.address(proxy+":1234", c.header); got != c.want {
			t.Errorf("%s: got address %s, want %s", name, got, c.want)
		}
	}
}

// A header that is ignored is counted each time, but logged at most once a minute, so that clients cannot
// fill the log. The log never contains the header.
func TestIgnoredHeaderIsLoggedOnceAMinute(t *testing.T) {
	t.Parallel()
	const canary = "canary-in-the-forwarded-for-header"
	s := newClientsServer(t, "10.0.0.0/8")
	check := func(wantCount float64, wantPeers int) {
		t.Helper()
		if count, peers := s.ignored(t); count != wantCount || len(peers) != wantPeers {
			t.Errorf("counted %v and logged %q, want %v and %d lines", count, peers, wantCount, wantPeers)
		}
	}
	s.address("10.0.0.1:1234", http.Header{forwardedFor: {canary}}) // trusted
	s.address("192.0.2.7:1234", http.Header{})                      // no header
	check(0, 0)
	for range 3 {
		if got := s.address("192.0.2.7:1234", http.Header{forwardedFor: {canary}}); got != "192.0.2.7" {
			t.Errorf("got address %s, want the peer's", got)
		}
	}
	check(3, 1)
	s.now.Advance(59 * time.Second)
	s.address("192.0.2.8:1234", http.Header{forwardedFor: {canary}})
	check(4, 1)
	s.now.Advance(time.Second)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { s.address("192.0.2.8:1234", http.Header{forwardedFor: {canary}}) })
	}
	all.Wait()
	check(12, 2)
	if _, peers := s.ignored(t); strings.Join(peers, " ") != "192.0.2.7 192.0.2.8" {
		t.Errorf("logged the peers %q", peers)
	}
	if log := s.log.String(); strings.Contains(log, canary) || !strings.Contains(log, "http.trusted_proxies") {
		t.Errorf("the log contains the header, or does not name the setting: %s", log)
	}
}
