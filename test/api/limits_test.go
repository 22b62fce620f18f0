package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// TestFailedMatches sends posts to the shared base URL. Their signatures match no partner. After
// too many of these posts, further posts from the same address to this URL are rejected for a
// minute, before their signatures are checked. Other addresses are not affected.
func TestFailedMatches(t *testing.T) {
	t.Parallel()
	n := node.Start(t, func(n *node.Node) {
		n.Config.Limits.MatchFailuresPerMinute = 3
		n.Config.HTTP.TrustedProxies = []string{"127.0.0.1/32"}
	})
	const attacker, neighbour = "192.0.2.7", "192.0.2.8"
	from := func(address string) func(*node.Request) { return with("X-Forwarded-For", address) }
	wrong := with(signatureHeader, strings.Repeat("0", 64))
	post := func(path, address string, change ...func(*node.Request)) scenario {
		return scenario{
			name:   address + " " + path,
			by:     required,
			path:   path,
			body:   node.MinimalPost,
			change: append(change, from(address)),
			status: http.StatusUnauthorized,
			want:   rejection(spec.BadSignature),
		}
	}
	tooMany := func(s scenario, retryAfter string) scenario {
		s.status, s.want, s.header = http.StatusTooManyRequests, rejection(spec.TooManyInvalidSignatures), map[string]string{"Retry-After": retryAfter}
		return s
	}
	delivered := func(s scenario) scenario {
		s.status, s.want, s.stored = http.StatusOK, []string{`"hmacVerified":true`}, node.OneLead
		return s
	}
	const shared = "/api/lead/post"
	failing := post(shared, attacker, wrong)
	play(t, n, []scenario{failing, failing, failing, tooMany(failing, "60"), tooMany(post(shared, attacker), "60")})
	n.Manual.Advance(20 * time.Second)
	play(t, n, []scenario{
		tooMany(failing, "40"),
		delivered(post(shared, neighbour)), // the signature matches a partner's secret
		delivered(post("", attacker)),      // on a partner's own base URL, no search for a match is needed
		post("", attacker, wrong),
		tooMany(post(shared, "198.51.100.1, "+attacker), "40"), // addresses that the client itself added are ignored
		tooMany(post(shared, attacker+":4123"), "40"),          // some proxies add the port
		delivered(post(shared, neighbour+":4123")),
	})
	n.Manual.Advance(40 * time.Second)
	play(t, n, []scenario{delivered(post(shared, attacker))})
	n.CheckNoPersonalData(t)
}

// TestForwardedAddressNeedsTrust sends X-Forwarded-For to a node that trusts no proxies. The node
// ignores the header, and counts the request in a metric.
func TestForwardedAddressNeedsTrust(t *testing.T) {
	t.Parallel()
	n := node.Start(t, func(n *node.Node) { n.Config.Limits.MatchFailuresPerMinute = 1 })
	for i, status := range []int{http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusTooManyRequests} {
		r := node.Request{Path: "/api/lead/post", Body: node.MinimalPost}
		node.SignAt(&r, node.Marker, n.Now())
		r.SetHeader("X-Forwarded-For", "192.0.2."+string(rune('1'+i)))
		if a := n.Do(t, r); a.Status != status {
			t.Errorf("post %d: got %d, want %d: %s", i+1, a.Status, status, a.Body)
		}
	}
	if !strings.Contains(n.Get(t, n.Ops+"/metrics"), "\npingpost_forwarded_for_ignored_total 3\n") {
		t.Error("pingpost_forwarded_for_ignored_total is not 3")
	}
}

// TestRates exceeds the limits per second for pings from an address and for posts from a partner.
// Further requests get 429, and requests a second later are accepted.
func TestRates(t *testing.T) {
	t.Parallel()
	n := node.Start(t, func(n *node.Node) { n.Config.Limits.SharedPingsPerAddress, n.Config.Limits.PostsPerPartner = 10, 2 })
	tooMany := func(a node.Answer, what string) {
		t.Helper()
		if a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "1" ||
			a.Rejection() != spec.TooManyRequests.Body() {
			t.Errorf("%s: got %d, Retry-After %q, %s", what, a.Status, a.Header.Get("Retry-After"), a.Body)
		}
	}
	n.Manual.Advance(time.Second) // starts a new second, so that requests during setup do not count
	bodies := make([]string, 3)
	for i := range bodies {
		bodies[i] = n.FreshPost(t, n.Required)
	}
	for range 10 {
		n.Ping(t, "", node.MinimalPing)
	}
	ping := node.Request{Path: "/api/lead/ping", Body: node.MinimalPing}
	tooMany(n.Do(t, ping), "the eleventh ping")
	for _, body := range bodies[:2] {
		if a := n.Do(t, n.Signed(n.Required, body)); a.Status != http.StatusOK {
			t.Errorf("post: got %d %s", a.Status, a.Body)
		}
	}
	tooMany(n.Do(t, n.Signed(n.Required, bodies[2])), "the third post")
	n.Manual.Advance(time.Second)
	if a := n.Do(t, ping); a.Status != http.StatusOK {
		t.Errorf("after a second: got %d %s", a.Status, a.Body)
	}
	if a := n.Do(t, n.Signed(n.Required, bodies[2])); a.Status != http.StatusOK {
		t.Errorf("after a second: got %d %s", a.Status, a.Body)
	}
}
