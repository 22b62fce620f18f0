package config

import (
	"net"
	"net/netip"
	"strings"
	"time"
)

// longestAnswer is what a post may take once its body has been read (decision 27).
const longestAnswer = 5 * time.Second

// Warnings lists settings that are legal but seldom intended, sorted by path.
// The configuration must be valid.
func (c *Config) Warnings() Problems {
	var ps Problems
	if c.needs(SectionHTTP) {
		c.HTTP.warn(&ps)
	}
	if c.needs(SectionDatabase) && !c.Database.encrypted() {
		ps.add("database.url", "others on the network may read along; add sslmode=verify-full (or require)")
	}
	if c.needs(SectionKeys) && c.needs(SectionVault) && c.Wrapper() == "" {
		ps.add("keys.write_with", "no key wrapper is configured: pings are answered, every post gets 503")
	}
	if c.needs(SectionSigning) && c.Signing.DefaultMode != SigningRequired {
		ps.add("signing.default_mode", "posts without a signature are accepted where nothing stricter is set")
	}
	if c.needs(SectionLimits) {
		c.Limits.warn(&ps)
	}
	ps.sort()
	return ps
}

func (h *HTTP) warn(ps *Problems) {
	if host, _, _ := net.SplitHostPort(h.OpsAddr); !loopback(host) {
		ps.add("http.ops_addr",
			"is reachable from other machines: metrics and profiles need a network that partners cannot reach")
	}
	if strings.HasPrefix(h.PublicURL, "http://") {
		ps.add("http.public_url", "works on this machine alone")
	}
	for i, cidr := range h.TrustedProxies {
		if network, err := netip.ParsePrefix(cidr); err == nil && network.Bits() == 0 {
			ps.add(itemPath("http.trusted_proxies", i),
				"believes everyone: a client can choose the address it is limited and logged by")
		}
	}
	if h.WriteTimeout < h.ReadTimeout+longestAnswer {
		ps.add("http.write_timeout", "is less than 5s above http.read_timeout: a slow post is cut off instead of answered")
	}
	if h.ShutdownGrace < h.WriteTimeout {
		ps.add("http.shutdown_grace", "is shorter than http.write_timeout: a stopping node may cut requests off")
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
			ps.add(limit.path, "0 lifts the limit")
		}
	}
}
