package config

import (
	"net/netip"
	"strings"
	"time"
)

// longestAnswer is the maximum time to answer a post after its body has been read (decision 27).
const longestAnswer = 5 * time.Second

// Warnings returns a warning for each setting whose value is valid but rarely intended, sorted by path.
// The configuration must have passed Validate.
func (c *Config) Warnings() Problems {
	var ps Problems
	if c.needs(SectionHTTP) {
		c.HTTP.warn(&ps)
	}
	if c.needs(SectionDatabase) && !c.Database.encrypted() {
		ps.add("database.url", "the connection may not be encrypted; add sslmode=verify-full (or require)")
	}
	if c.needs(SectionKeys) && c.needs(SectionVault) && c.Wrapper() == "" && (c.HTTP.APIAddr != "" || !c.needs(SectionHTTP)) {
		ps.add("keys.write_with", "no key wrapper is configured: pings are answered, but every post gets 503")
	}
	if c.needs(SectionSigning) && c.Signing.DefaultMode != SigningRequired {
		ps.add("signing.default_mode", "unsigned posts are accepted unless the partner or account has a stricter mode")
	}
	if c.needs(SectionLimits) {
		c.Limits.warn(&ps)
	}
	if c.needs(SectionPrivacy) {
		c.Privacy.warn(&ps)
	}
	if c.needs(SectionRetention) && c.needs(SectionPayouts) {
		c.Retention.warn(&ps, c.Payouts.ReturnDays)
	}
	c.warnReadable(&ps)
	ps.sort()
	return ps
}

func (h *HTTP) warn(ps *Problems) {
	for _, origin := range []struct{ path, value string }{
		{"http.public_url", h.PublicURL}, {"http.admin_url", h.AdminURL},
	} {
		if strings.HasPrefix(origin.value, "http://") {
			ps.add(origin.path, "only works on this machine")
		}
	}
	for i, cidr := range h.TrustedProxies {
		if network, err := netip.ParsePrefix(cidr); err == nil && network.Bits() == 0 {
			ps.add(itemPath("http.trusted_proxies", i),
				"trusts every client: clients can set the address that is used for limits and logs")
		}
	}
	if h.WriteTimeout < h.ReadTimeout+longestAnswer {
		ps.add("http.write_timeout", "is less than 5s above http.read_timeout: slow posts are cut off without a response")
	}
	if h.ShutdownGrace < h.WriteTimeout {
		ps.add("http.shutdown_grace", "is shorter than http.write_timeout: a stopping node may cut off requests")
	}
}

func (l *Limits) warn(ps *Problems) {
	for _, limit := range []struct {
		path  string
		value int
	}{
		{"limits.match_concurrency", l.MatchConcurrency},
		{"limits.match_failures_per_minute", l.MatchFailuresPerMinute},
		{"limits.signature_failures_per_minute", l.SignatureFailuresPerMinute},
		{"limits.pings_per_address", l.PingsPerAddress},
		{"limits.shared_pings_per_address", l.SharedPingsPerAddress},
		{"limits.posts_per_partner", l.PostsPerPartner},
		{"limits.unsigned_posts_per_address", l.UnsignedPostsPerAddress},
		{"limits.post_concurrency", l.PostConcurrency},
		{"limits.ping_log_mib_per_day", l.PingLogMiBPerDay},
	} {
		if limit.value == 0 {
			ps.add(limit.path, "0 means no limit")
		}
	}
}
