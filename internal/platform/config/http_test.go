package config

import (
	"strings"
	"testing"
	"time"
)

func validHTTP() HTTP {
	h := defaultHTTP(Serve)
	h.APIAddr, h.AdminAddr, h.OpsAddr, h.PublicURL = ":8080", ":8081", "127.0.0.1:8082", "https://leads.example.com"
	h.AdminURL = "https://console.example.com"
	return h
}

func TestHTTPValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*HTTP)
		want   []string
	}{
		{"valid", func(*HTTP) {}, nil},
		{"names and IPv6", func(h *HTTP) {
			h.APIAddr, h.AdminAddr, h.OpsAddr = "[::1]:80", "node-1.internal:8081", "localhost:65535"
		}, nil},
		{"one port on two addresses", func(h *HTTP) { h.APIAddr, h.AdminAddr = "192.0.2.1:80", "192.0.2.2:80" }, nil},
		{"port 0 three times", func(h *HTTP) { h.APIAddr, h.AdminAddr, h.OpsAddr = ":0", ":0", ":0" }, nil},
		{"profiles on loopback", func(h *HTTP) { h.ProfileAddr = "127.0.0.1:8083" }, nil},
		{"profiles on IPv6 loopback", func(h *HTTP) { h.ProfileAddr = "[::1]:8083" }, nil},
		{"profiles on localhost", func(h *HTTP) { h.ProfileAddr = "localhost:8083" }, nil},
		{"profiles on all addresses", func(h *HTTP) { h.ProfileAddr = ":8083" }, []string{"http.profile_addr"}},
		{"profiles on all IPv4 addresses", func(h *HTTP) { h.ProfileAddr = "0.0.0.0:8083" }, []string{"http.profile_addr"}},
		{"profiles on another address", func(h *HTTP) { h.ProfileAddr = "192.0.2.1:8083" }, []string{"http.profile_addr"}},
		{"profiles without a port", func(h *HTTP) { h.ProfileAddr = "127.0.0.1" }, []string{"http.profile_addr"}},
		{"profiles on the ops listener", func(h *HTTP) { h.ProfileAddr = "127.0.0.1:8082" },
			[]string{"http.profile_addr http.ops_addr"}},
		{"only the partner API", func(h *HTTP) { h.AdminAddr, h.AdminURL = "", "" }, nil},
		{"only the console", func(h *HTTP) { h.APIAddr = "" }, nil},
		{"neither of them", func(h *HTTP) { h.APIAddr, h.AdminAddr = "", "" },
			[]string{"http.admin_addr PINGPOST_HTTP_ADMIN_ADDR", "http.api_addr PINGPOST_HTTP_API_ADDR"}},
		{"no port", func(h *HTTP) { h.APIAddr = "localhost" }, []string{"http.api_addr"}},
		{"a named port", func(h *HTTP) { h.APIAddr = ":http" }, []string{"http.api_addr"}},
		{"port too high", func(h *HTTP) { h.OpsAddr = ":65536" }, []string{"http.ops_addr"}},
		{"no port after the colon", func(h *HTTP) { h.OpsAddr = "localhost:" }, []string{"http.ops_addr"}},
		{"a URL as an address", func(h *HTTP) { h.AdminAddr = "http://localhost:80" }, []string{"http.admin_addr"}},
		{"a long name", func(h *HTTP) { h.AdminAddr = strings.Repeat("a", 63) + ".internal:80" }, nil},
		{"name too long", func(h *HTTP) {
			h.AdminAddr = strings.Repeat("a", 64) + ".internal:80"
		}, []string{"http.admin_addr"}},
		{"a name with an empty label", func(h *HTTP) { h.AdminAddr = "a..b:80" }, []string{"http.admin_addr"}},
		{"invalid characters in a host", func(h *HTTP) { h.AdminAddr = "a b:80" }, []string{"http.admin_addr"}},
		{"two listeners on one port", func(h *HTTP) { h.AdminAddr = ":8080" },
			[]string{"http.admin_addr http.api_addr"}},
		{"all addresses and one of them", func(h *HTTP) { h.OpsAddr = "127.0.0.1:8080" },
			[]string{"http.ops_addr http.api_addr"}},
		{"two names for loopback", func(h *HTTP) { h.AdminAddr = "localhost:8082" },
			[]string{"http.ops_addr http.admin_addr"}},
		{"one port in two notations", func(h *HTTP) { h.AdminAddr = "0.0.0.0:08080" },
			[]string{"http.admin_addr http.api_addr"}},

		{"a port in the origin", func(h *HTTP) { h.PublicURL = "https://leads.example.com:8443" }, nil},
		{"http on loopback", func(h *HTTP) { h.PublicURL = "http://[::1]:8080" }, nil},
		{"http on localhost", func(h *HTTP) { h.PublicURL = "http://pingpost.localhost:8080" }, nil},
		{"http elsewhere", func(h *HTTP) { h.PublicURL = "http://leads.example.com" }, []string{"http.public_url"}},
		{"http where localhost is a prefix", func(h *HTTP) {
			h.PublicURL = "http://localhost.example.com"
		}, []string{"http.public_url"}},
		{"no scheme", func(h *HTTP) { h.PublicURL = "leads.example.com" }, []string{"http.public_url"}},
		{"another scheme", func(h *HTTP) { h.PublicURL = "ftp://leads.example.com" }, []string{"http.public_url"}},
		{"no host", func(h *HTTP) { h.PublicURL = "https://:443" }, []string{"http.public_url"}},
		{"port in the origin too high", func(h *HTTP) {
			h.PublicURL = "https://leads.example.com:70000"
		}, []string{"http.public_url"}},
		{"not a URL", func(h *HTTP) { h.PublicURL = "https://leads .example.com" }, []string{"http.public_url"}},
		{"a trailing slash", func(h *HTTP) { h.PublicURL = "https://leads.example.com/" }, []string{"http.public_url"}},
		{"a path", func(h *HTTP) { h.PublicURL = "https://leads.example.com/api" }, []string{"http.public_url"}},
		{"a query", func(h *HTTP) { h.PublicURL = "https://leads.example.com?" }, []string{"http.public_url"}},
		{"a fragment", func(h *HTTP) { h.PublicURL = "https://leads.example.com#" }, []string{"http.public_url"}},
		{"a user", func(h *HTTP) { h.PublicURL = "https://user:pw@leads.example.com" }, []string{"http.public_url"}},

		{"no console URL", func(h *HTTP) { h.AdminURL = "" }, []string{"http.admin_url PINGPOST_HTTP_ADMIN_URL"}},
		{"a console URL with a path", func(h *HTTP) { h.AdminURL = "https://example.com/console" }, []string{"http.admin_url"}},
		{"a console URL without HTTPS", func(h *HTTP) { h.AdminURL = "http://console.example.com" }, []string{"http.admin_url"}},
		{"a console URL on localhost", func(h *HTTP) { h.AdminURL = "http://localhost:8081" }, nil},

		{"one proxy", func(h *HTTP) { h.TrustedProxies = []string{"192.0.2.7/32", "2001:db8::/64"} }, nil},
		{"proxies without a prefix length and with host bits", func(h *HTTP) { h.TrustedProxies = []string{"192.0.2.7", "10.0.0.1/8"} },
			[]string{"http.trusted_proxies[0]", "http.trusted_proxies[1]"}},

		{"times of zero", func(h *HTTP) {
			h.ReadHeaderTimeout, h.ReadTimeout, h.WriteTimeout, h.IdleTimeout, h.DrainDelay, h.ShutdownGrace = 0, 0, 0, 0, 0, 0
		}, []string{
			"http.idle_timeout",
			"http.read_header_timeout",
			"http.read_timeout",
			"http.shutdown_grace",
			"http.write_timeout",
		}},
		{"a negative delay", func(h *HTTP) { h.DrainDelay = -1 }, []string{"http.drain_delay"}},
		{"read_timeout below read_header_timeout", func(h *HTTP) { h.ReadTimeout = time.Second },
			[]string{"http.read_timeout http.read_header_timeout"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := validHTTP()
			c.change(&h)
			checkProblems(t, h.Validate(), c.want...)
		})
	}
}
