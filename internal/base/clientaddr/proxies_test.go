package clientaddr_test

import (
	"net/netip"
	"testing"

	"github.com/pingpost/pingpost/internal/base/clientaddr"
)

// The client's address is the last address in X-Forwarded-For that is not a trusted proxy, with or without
// a port.
func TestClient(t *testing.T) {
	t.Parallel()
	proxies := clientaddr.Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}
	const proxy, stranger, client, claimed = "10.0.0.1:1234", "198.51.100.9:1234", "192.0.2.7", "203.0.113.5"
	for name, c := range map[string]struct {
		peer      string
		forwarded []string
		want      string
		trusted   bool
	}{
		"no proxy":                         {stranger, nil, "198.51.100.9", false},
		"not a trusted proxy":              {stranger, []string{claimed}, "198.51.100.9", false},
		"a proxy":                          {proxy, []string{claimed + ", " + client}, client, true},
		"a proxy without a header":         {proxy, nil, "10.0.0.1", true},
		"two proxies":                      {proxy, []string{claimed + ", " + client + ", 10.0.0.2"}, client, true},
		"only proxies":                     {proxy, []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3", true},
		"two headers":                      {proxy, []string{claimed, client + ",10.2.2.2"}, client, true},
		"an empty header":                  {proxy, []string{""}, "10.0.0.1", true},
		"an invalid header":                {proxy, []string{client + ", unknown"}, "10.0.0.1", true},
		"an invalid address of the client": {proxy, []string{claimed + ", unknown, 10.0.0.2"}, "10.0.0.1", true},
		"a port":                           {proxy, []string{claimed + ", " + client + ":4123"}, client, true},
		"ports of two proxies":             {proxy, []string{client + ":4123, 10.0.0.2:80"}, client, true},
		"an IPv6 address with a port":      {proxy, []string{"[2001:db9::1]:443"}, "2001:db9::1", true},
		"an IPv6 address without a port":   {proxy, []string{"2001:db9::1"}, "2001:db9::1", true},
		"an invalid port":                  {proxy, []string{client + ":port"}, "10.0.0.1", true},
		"a proxy with an IPv6 address":     {"[2001:db8::1]:1234", []string{client}, client, true},
		"IPv4-mapped addresses":            {"[::ffff:10.0.0.1]:1234", []string{"::ffff:" + client}, client, true},
		"a peer with a zone":               {"[fe80::1%eth0]:1234", []string{client}, "fe80::1", false},
	} {
		got, trusted := proxies.Client(c.peer, c.forwarded)
		if got.String() != c.want || trusted != c.trusted {
			t.Errorf("%s: got %s, trusted %t, want %s, %t", name, got, trusted, c.want, c.trusted)
		}
	}
}
