package config

import "time"

// Limits bounds the load that a node accepts. A number of 0 means no limit. A wait of 0
// rejects immediately, because waits are always bounded.
type Limits struct {
	MatchConcurrency       int           // concurrent matches by secret (decision 13)
	MatchWait              time.Duration // for a slot, then 429
	MatchFailuresPerMinute int           // per client address, then 429

	SignatureFailuresPerMinute int // per client address, then 429
	PingsPerAddress            int // per second on partners' base URLs, then 429
	SharedPingsPerAddress      int // per second on the shared base URL, then 429
	PostsPerPartner            int // verified signed posts per second, then 429 (decision 28)
	UnsignedPostsPerAddress    int // per second, then 429

	PostConcurrency int           // concurrent posts at the database
	PostWait        time.Duration // for a slot, then 503

	PingLogMiBPerDay int // size of the ping log's rows; more rows are dropped
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

// Validate returns all problems in the section as Problems.
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
