package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestFailedMatches keeps sending signatures that nobody has to the shared base
// URL: the address is turned away before its signatures are looked at, for a
// minute, and nobody else is.
func TestFailedMatches(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(n *node) {
		n.cfg.Limits.MatchFailuresPerMinute = 3
		n.cfg.HTTP.TrustedProxies = []string{"127.0.0.1/32"}
	})
	const attacker, neighbour = "192.0.2.7", "192.0.2.8"
	from := func(address string) func(*request) { return with("X-Forwarded-For", address) }
	wrong := with(signatureHeader, strings.Repeat("0", 64))
	post := func(path, address string, change ...func(*request)) scenario {
		return scenario{name: address + " " + path, by: required, path: path, body: leastPost, change: append(change, from(address)),
			status: http.StatusUnauthorized, want: refusal(badSignature)}
	}
	tooMany := func(s scenario, retryAfter string) scenario {
		s.status, s.want, s.header = http.StatusTooManyRequests, refusal("Too Many Requests"), map[string]string{"Retry-After": retryAfter}
		return s
	}
	delivered := func(s scenario) scenario {
		s.status, s.want, s.stored = http.StatusOK, []string{`"hmacVerified":true`}, oneLead
		return s
	}
	const shared = "/api/lead/post"
	failing := post(shared, attacker, wrong)
	n.play(t, []scenario{failing, failing, failing, tooMany(failing, "60"), tooMany(post(shared, attacker), "60")})
	n.hands.Advance(20 * time.Second)
	n.play(t, []scenario{
		tooMany(failing, "40"),
		delivered(post(shared, neighbour)), // by its secret
		delivered(post("", attacker)),      // on its own base URL no secret is searched for
		post("", attacker, wrong),
		tooMany(post(shared, "198.51.100.1, "+attacker), "40"), // what a client says of itself counts for nothing
	})
	n.hands.Advance(40 * time.Second)
	n.play(t, []scenario{delivered(post(shared, attacker))})
	n.leavesNoTrace(t)
}

// TestForwardedAddressNeedsTrust sends X-Forwarded-For to a node that trusts no
// proxy: it changes nothing.
func TestForwardedAddressNeedsTrust(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(n *node) { n.cfg.Limits.MatchFailuresPerMinute = 1 })
	for i, status := range []int{http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusTooManyRequests} {
		r := request{path: "/api/lead/post", body: leastPost}
		signAt(&r, marker, n.now())
		r.set("X-Forwarded-For", "192.0.2."+string(rune('1'+i)))
		if a := n.do(t, r); a.status != status {
			t.Errorf("post %d: answered %d, want %d: %s", i+1, a.status, status, a.body)
		}
	}
}

// TestRates sends more pings from an address and more posts of a partner than a
// second may bring: beyond it they are asked to come back, and a second later they
// are answered.
func TestRates(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(n *node) { n.cfg.Limits.SharedPingsPerAddress, n.cfg.Limits.PostsPerPartner = 10, 2 })
	tooMany := func(a answer, what string) {
		t.Helper()
		if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "1" || a.body != `{"ok":false,"message":"Too Many Requests"}` {
			t.Errorf("%s: answered %d, Retry-After %q, %s", what, a.status, a.header.Get("Retry-After"), a.body)
		}
	}
	n.hands.Advance(time.Second) // whatever was sent to get here
	bodies := make([]string, 3)
	for i := range bodies {
		bodies[i] = n.freshPost(t, n.required)
	}
	for range 10 {
		n.ping(t, "", leastPing)
	}
	ping := request{path: "/api/lead/ping", body: leastPing}
	tooMany(n.do(t, ping), "the eleventh ping")
	for _, body := range bodies[:2] {
		if a := n.do(t, n.signed(n.required, body)); a.status != http.StatusOK {
			t.Errorf("a post: answered %d %s", a.status, a.body)
		}
	}
	tooMany(n.do(t, n.signed(n.required, bodies[2])), "the third post")
	n.hands.Advance(time.Second)
	if a := n.do(t, ping); a.status != http.StatusOK {
		t.Errorf("a second later: answered %d %s", a.status, a.body)
	}
	if a := n.do(t, n.signed(n.required, bodies[2])); a.status != http.StatusOK {
		t.Errorf("a second later: answered %d %s", a.status, a.body)
	}
}
