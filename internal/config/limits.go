package config

import "time"

// Limits bounds what the service takes on at once. A number of 0 lifts its
// limit; a wait of 0 refuses at once, because no wait is ever unbounded.
type Limits struct {
	MatchConcurrency       int           // matches by secret at once (decision 13)
	MatchWait              time.Duration // for a place among them, then 429
	MatchFailuresPerMinute int           // per client address, then 429

	SignatureFailuresPerMinute int // per client address, then 429
	PingsPerAddress            int // on partners' base URLs a second, then 429
	SharedPingsPerAddress      int // on the shared address a second, then 429
	PostsPerPartner            int // verified signed posts a second, then 429 (decision 28)
	UnsignedPostsPerAddress    int // a second, then 429

	PostConcurrency int           // posts at the database at once
	PostWait        time.Duration // for a place among them, then 503

	PingLogMiBPerDay int // of rows of the ping log, then they are dropped
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
		// A developer who tries out signatures makes mistakes.
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

// Validate reports every problem of the section as Problems.
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
