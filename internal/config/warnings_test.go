package config

import (
	"slices"
	"strings"
	"testing"
)

func TestWarnings(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing questionable", "", ""},
		{"unsigned posts", "signing: {default_mode: off}", "signing.default_mode: posts without a signature are accepted where nothing stricter is set"},
		{"operations in public", `http: {ops_addr: ":9090"}`, "http.ops_addr: is reachable from other machines: metrics and profiles need a network that partners cannot reach"},
		{"a URL for this machine", `http: {public_url: "http://localhost:8080"}`, "http.public_url: works on this machine alone"},
		{"everyone a proxy", `http: {trusted_proxies: [10.0.0.0/8, "::/0"]}`, "http.trusted_proxies[1]: believes everyone: a client can choose the address it is limited and logged by"},
		{"answers cut short", "http: {write_timeout: 14s}", "http.write_timeout: is less than 5s above http.read_timeout: a slow post is cut off instead of answered"},
		{"stopping too soon", "http: {shutdown_grace: 14s}", "http.shutdown_grace: is shorter than http.write_timeout: a stopping node may cut requests off"},
		{"readable on the way", `database: {url: "postgres://u:p@db.example.com/db"}`, "database.url: others on the network may read along; add sslmode=verify-full (or require)"},
		{"no key wrapper", "keys: {local_kek: }", "keys.write_with: no key wrapper is configured: pings are answered, every post gets 503"},
		{"no limits", "limits: {match_concurrency: 0, match_failures_per_minute: 0, signature_failures_per_minute: 0, pings_per_address: 0, shared_pings_per_address: 0, ping_log_mib_per_day: 0, posts_per_partner: 0, unsigned_posts_per_address: 0, post_concurrency: 0}",
			"limits.match_concurrency: 0 lifts the limit\nlimits.match_failures_per_minute: 0 lifts the limit\nlimits.ping_log_mib_per_day: 0 lifts the limit\nlimits.pings_per_address: 0 lifts the limit\n" +
				"limits.post_concurrency: 0 lifts the limit\nlimits.posts_per_partner: 0 lifts the limit\nlimits.shared_pings_per_address: 0 lifts the limit\nlimits.signature_failures_per_minute: 0 lifts the limit\n" +
				"limits.unsigned_posts_per_address: 0 lifts the limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			environ := slices.DeleteFunc(sufficient(), func(v string) bool {
				return strings.Contains(c.text, "ops_addr") && strings.Contains(v, "OPS_ADDR") ||
					strings.Contains(c.text, "public_url") && strings.Contains(v, "PUBLIC_URL") ||
					strings.Contains(c.text, "url:") && strings.Contains(v, "DATABASE_URL") && strings.Contains(c.text, "database") ||
					strings.Contains(c.text, "local_kek") && strings.Contains(v, "KEK")
			})
			if got := lines(mustLoad(t, c.text, environ...).Warnings()); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// lines are the problems, one a line.
func lines(ps Problems) string {
	texts := make([]string, len(ps))
	for i, p := range ps {
		texts[i] = p.String()
	}
	return strings.Join(texts, "\n")
}
