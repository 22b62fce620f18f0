package docs

import (
	"strconv"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/platform/config"
)

// Settings are the settings of the node that the documentation states.
type Settings struct {
	HTTP       config.HTTP
	Limits     config.Limits
	ReturnDays int // payouts.return_days

	SandboxDays int // retention.sandbox_days
}

// fill replaces the names of settings in braces, such as {http.idle_timeout}, and {origin}. It makes the
// document state the values that are in effect on this node.
func (s Settings) fill(document []byte) []byte {
	const address = " from each client address"
	return []byte(strings.NewReplacer(
		"{origin}", s.origin(),
		"{http.read_header_timeout}", duration(s.HTTP.ReadHeaderTimeout),
		"{http.read_timeout}", duration(s.HTTP.ReadTimeout),
		"{http.idle_timeout}", duration(s.HTTP.IdleTimeout),
		"{limits.pings_per_address}", rate(s.Limits.PingsPerAddress, " per second"+address),
		"{limits.shared_pings_per_address}", rate(s.Limits.SharedPingsPerAddress, " per second"+address),
		"{limits.posts_per_partner}", rate(s.Limits.PostsPerPartner, " per second for each partner"),
		"{limits.unsigned_posts_per_address}", rate(s.Limits.UnsignedPostsPerAddress, " per second"+address),
		"{limits.signature_failures_per_minute}", rate(s.Limits.SignatureFailuresPerMinute, " per minute"+address),
		"{limits.match_failures_per_minute}", rate(s.Limits.MatchFailuresPerMinute, " per minute"+address),
		"{payouts.return_days}", plural(s.ReturnDays, "day"),
		"{retention.sandbox_days}", plural(s.SandboxDays, "day"),
	).Replace(string(document)))
}

// origin returns the public URL without a trailing slash.
func (s Settings) origin() string { return strings.TrimSuffix(s.HTTP.PublicURL, "/") }

func rate(limit int, unit string) string {
	if limit == 0 {
		return "no limit"
	}
	return grouped(strconv.Itoa(limit)) + unit
}

func duration(d time.Duration) string {
	if d%time.Second != 0 {
		return d.String()
	}
	return plural(int(d/time.Second), "second")
}

func plural(n int, unit string) string {
	if n != 1 {
		unit += "s"
	}
	return grouped(strconv.Itoa(n)) + " " + unit
}
