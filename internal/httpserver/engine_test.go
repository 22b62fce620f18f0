package httpserver_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/pingpost/pingpost/internal/httpserver"
)

// The client's address is the rightmost address in X-Forwarded-For that is not a trusted proxy.
// Other headers are ignored, because the client may have set them.
func TestClientAddress(t *testing.T) {
	t.Parallel()
	engine, err := httpserver.NewEngine([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")})
	if err != nil {
		t.Fatal(err)
	}
	engine.GET("/address", func(c *gin.Context) { c.String(http.StatusOK, c.ClientIP()) })
	const proxy, stranger, client, claimed = "10.0.0.1", "198.51.100.9", "192.0.2.7", "203.0.113.5"
	for name, c := range map[string]struct {
		from   string
		header http.Header
		want   string
	}{
		"no proxy":                     {stranger, http.Header{}, stranger},
		"X-Forwarded-For, not a proxy": {stranger, http.Header{"X-Forwarded-For": {claimed}}, stranger},
		"X-Forwarded-For from a proxy": {proxy, http.Header{"X-Forwarded-For": {claimed + ", " + client}}, client},
		"two proxies":                  {proxy, http.Header{"X-Forwarded-For": {claimed + ", " + client + ", 10.0.0.2"}}, client},
		"X-Real-IP through a proxy":    {proxy, http.Header{"X-Real-Ip": {claimed}}, proxy},
		"X-Real-IP with X-Forwarded-For": {proxy, http.Header{
			"X-Real-Ip":       {claimed},
			"X-Forwarded-For": {client},
		}, client},
		"X-Real-IP with an invalid X-Forwarded-For": {proxy, http.Header{
			"X-Real-Ip":       {claimed},
			"X-Forwarded-For": {"invalid"},
		}, proxy},
		"a second X-Forwarded-For":     {proxy, http.Header{"X-Forwarded-For": {claimed, client + ", 10.2.2.2"}}, client},
		"an empty X-Forwarded-For":     {proxy, http.Header{"X-Forwarded-For": {""}}, proxy},
		"a proxy with an IPv6 address": {"2001:db8::1", http.Header{"X-Forwarded-For": {client}}, client},
		"headers of hosting platforms": {proxy, http.Header{
			"Cf-Connecting-Ip":        {claimed},
			"X-Appengine-Remote-Addr": {claimed},
		}, proxy},
	} {
		r := httptest.NewRequest(http.MethodGet, "/address", nil)
		r.RemoteAddr, r.Header = net.JoinHostPort(c.from, "1234"), c.header
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, r)
		if got := w.Body.String(); got != c.want {
			t.Errorf("%s: got address %s, want %s", name, got, c.want)
		}
	}
}
