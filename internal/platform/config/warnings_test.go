package config

import (
	"slices"
	"strings"
	"testing"
)

func TestWarnings(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no warnings", "", ""},
		{"unsigned posts", "signing: {default_mode: off}", "signing.default_mode"},
		{"ops listener for a load balancer", `http: {ops_addr: ":9090"}`, ""},
		{"local public URL", `http: {public_url: "http://localhost:8080"}`, "http.public_url"},
		{"local console URL", `http: {admin_url: "http://localhost:8081"}`, "http.admin_url"},
		{"all clients as proxies", `http: {trusted_proxies: [10.0.0.0/8, "::/0"]}`, "http.trusted_proxies[1]"},
		{"write timeout too short", "http: {write_timeout: 14s}", "http.write_timeout http.read_timeout"},
		{"shutdown grace too short", "http: {shutdown_grace: 14s}", "http.shutdown_grace http.write_timeout"},
		{"unencrypted database connection", `database: {url: "postgres://u:p@db.example.com/db"}`, "database.url"},
		{"no key wrapper", "keys: {local_kek: }", "keys.write_with"},
		{"recipients that are not named", `privacy: {erasure_journal: /journal}`, "privacy.controller\nprivacy.recipients"},
		{"named recipients", `privacy: {erasure_journal: /journal, controller: Example Ltd, recipients: "Buyer Ltd, London"}`, ""},
		{"contact records erased before leads can no longer be returned", `{privacy: {erasure_journal: /journal, controller: Example Ltd, recipients: Buyer Ltd}, payouts: {return_days: 20}, retention: {contact_days: 19, contact_days_by_country: {DE: 5, FR: 20, GB: 0}}}`,
			"retention.contact_days payouts.return_days\nretention.contact_days_by_country[DE] payouts.return_days"},
		{"no limits", "limits: {match_concurrency: 0, match_failures_per_minute: 0, signature_failures_per_minute: 0, pings_per_address: 0, shared_pings_per_address: 0, ping_log_mib_per_day: 0, posts_per_partner: 0, unsigned_posts_per_address: 0, post_concurrency: 0}",
			"limits.match_concurrency\nlimits.match_failures_per_minute\nlimits.ping_log_mib_per_day\nlimits.pings_per_address\n" +
				"limits.post_concurrency\nlimits.posts_per_partner\nlimits.shared_pings_per_address\nlimits.signature_failures_per_minute\n" +
				"limits.unsigned_posts_per_address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			environ := slices.DeleteFunc(sufficient(), func(v string) bool {
				return strings.Contains(c.text, "ops_addr") && strings.Contains(v, "OPS_ADDR") ||
					strings.Contains(c.text, "public_url") && strings.Contains(v, "PUBLIC_URL") ||
					strings.Contains(c.text, "admin_url") && strings.Contains(v, "ADMIN_URL") ||
					strings.Contains(c.text, "url:") && strings.Contains(v, "DATABASE_URL") &&
						strings.Contains(c.text, "database") ||
					strings.Contains(c.text, "local_kek") && strings.Contains(v, "KEK")
			})
			if got := essence(mustLoad(t, c.text, environ...).Warnings()); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}
