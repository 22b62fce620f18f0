package config

import "time"

// Limits holds the settings of the section `limits`. These settings limit what one node accepts.
// Requests beyond a limit get 429 or 503 with `Retry-After`. All addresses in an IPv6 /64 network
// count as one client. Each number can be up to 100000, and 0 means no limit. If a wait time is
// `0s`, requests beyond the limit are rejected at once. The partners' documentation states the
// limits on pings, posts and wrong signatures.
type Limits struct {
	// How many posts may be matched to a partner at the same time. A node matches a post by trying the
	// partners' secrets. Matching only uses processor time, so a value above the number of cores slows
	// down all other requests. One more slot is reserved for addresses from which a post was matched in
	// the last 12 hours.
	MatchConcurrency int

	// How long a post waits for a slot in `match_concurrency` before it gets 429, up to `10s`.
	MatchWait time.Duration

	// How many failed matches one client address may have per minute before it gets 429. An IPv6 /48
	// network may have four times as many. A genuine partner has only a few failures, usually during
	// setup. A client with more failures is probably guessing.
	MatchFailuresPerMinute int

	// How many wrong signatures one client address may send per minute before its signed posts to the
	// shared base URL get 429. On partners' own base URLs, only posts with an invalid signature do.
	SignatureFailuresPerMinute int

	// How many pings one client address may send per second to partners' base URLs before it gets
	// 429, so that no single client can use up the capacity of a node. Behind a load balancer that
	// is not in `http.trusted_proxies`, all clients count as one address.
	PingsPerAddress int

	// The same limit as `pings_per_address`, but for the shared base URL, where anyone can ping.
	// Partners that need more can ping on their own base URL.
	SharedPingsPerAddress int

	// How many signed posts one partner may send per second before it gets 429. Only posts with a
	// valid signature count, so other clients cannot use up a partner's limit.
	PostsPerPartner int

	// How many unsigned posts one client address may send per second before it gets 429, in every
	// signing mode. Raise the limit if a partner sends more unsigned leads from one server.
	UnsignedPostsPerAddress int

	// How many posts may be stored at the same time. They are stored in two concurrent database
	// transactions of up to 128 posts each. The default is just enough to fill both. Four times as many
	// posts may wait for a slot. Further posts get 503 immediately, before their body is parsed.
	// Unsigned posts have slots of their own, a quarter of this number, so they never take the slot of a
	// signed post.
	PostConcurrency int

	// How long a post waits for a slot in `post_concurrency` before it gets 503. The quote is not used
	// up, so the partner can retry. A post is always answered within 5 s, so values above 2 s have
	// little effect.
	PostWait time.Duration

	// The maximum size, in MiB, of the rows that one node adds to the ping log in a UTC day; 4096 is
	// about 25 million pings. When the maximum is reached, pings are still answered and counted, but not
	// recorded. A restart resets the count.
	PingLogMiBPerDay int
}

func defaultLimits(p Profile) Limits {
	l := Limits{
		MatchConcurrency:       2,
		MatchWait:              50 * time.Millisecond,
		MatchFailuresPerMinute: 30,

		SignatureFailuresPerMinute: 600,
		PingsPerAddress:            5000,
		SharedPingsPerAddress:      200,
		PostsPerPartner:            500,
		UnsignedPostsPerAddress:    50,

		PostConcurrency: 256,
		PostWait:        2 * time.Second,

		PingLogMiBPerDay: 4096,
	}
	if p == Dev {
		// Developers make mistakes while they try out signatures.
		l.MatchConcurrency, l.MatchFailuresPerMinute, l.SignatureFailuresPerMinute = 0, 0, 0
		// A load test comes from one address and one partner.
		l.PingsPerAddress, l.SharedPingsPerAddress, l.PostsPerPartner, l.UnsignedPostsPerAddress = 0, 0, 0, 0
	}
	return l
}

func (l *Limits) fields() []field {
	return []field{
		whole("match_concurrency", &l.MatchConcurrency),
		duration("match_wait", &l.MatchWait),
		whole("match_failures_per_minute", &l.MatchFailuresPerMinute),
		whole("signature_failures_per_minute", &l.SignatureFailuresPerMinute),
		whole("pings_per_address", &l.PingsPerAddress),
		whole("shared_pings_per_address", &l.SharedPingsPerAddress),
		whole("posts_per_partner", &l.PostsPerPartner),
		whole("unsigned_posts_per_address", &l.UnsignedPostsPerAddress),
		whole("post_concurrency", &l.PostConcurrency),
		duration("post_wait", &l.PostWait),
		whole("ping_log_mib_per_day", &l.PingLogMiBPerDay),
	}
}

// Validate checks the section. Its error has the type Problems and contains all problems.
func (l *Limits) Validate() error {
	const most = 100_000
	var ps Problems
	between(&ps, "limits.match_concurrency", l.MatchConcurrency, 0, most)
	between(&ps, "limits.match_wait", l.MatchWait, 0, 10*time.Second)
	between(&ps, "limits.match_failures_per_minute", l.MatchFailuresPerMinute, 0, most)
	between(&ps, "limits.signature_failures_per_minute", l.SignatureFailuresPerMinute, 0, most)
	between(&ps, "limits.pings_per_address", l.PingsPerAddress, 0, most)
	between(&ps, "limits.shared_pings_per_address", l.SharedPingsPerAddress, 0, most)
	between(&ps, "limits.posts_per_partner", l.PostsPerPartner, 0, most)
	between(&ps, "limits.unsigned_posts_per_address", l.UnsignedPostsPerAddress, 0, most)
	between(&ps, "limits.post_concurrency", l.PostConcurrency, 0, most)
	between(&ps, "limits.ping_log_mib_per_day", l.PingLogMiBPerDay, 0, most)
	between(&ps, "limits.post_wait", l.PostWait, 0, time.Minute)
	return ps.asError()
}
