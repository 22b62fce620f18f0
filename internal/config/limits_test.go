package config

import (
	"testing"
	"time"
)

func TestLimitsValidate(t *testing.T) {
	checkProblems(t, (&Limits{}).Validate())
	checkProblems(t, (&Limits{MatchConcurrency: 100_000, MatchWait: 10 * time.Second, PostWait: time.Minute}).Validate())
	checkProblems(t, (&Limits{
		MatchConcurrency: -1, MatchWait: 11 * time.Second, MatchFailuresPerMinute: 100_001, PostConcurrency: -1, PostWait: -1,
		SignatureFailuresPerMinute: -1, PingsPerAddress: 100_001, PostsPerPartner: -1, UnsignedPostsPerAddress: 100_001,
		SharedPingsPerAddress: -1, PingLogMiBPerDay: 100_001,
	}).Validate(),
		"limits.match_concurrency: must be between 0 and 100000",
		"limits.match_failures_per_minute: must be between 0 and 100000",
		"limits.match_wait: must be between 0s and 10s",
		"limits.ping_log_mib_per_day: must be between 0 and 100000",
		"limits.pings_per_address: must be between 0 and 100000",
		"limits.post_concurrency: must be between 0 and 100000",
		"limits.post_wait: must be between 0s and 1m",
		"limits.posts_per_partner: must be between 0 and 100000",
		"limits.shared_pings_per_address: must be between 0 and 100000",
		"limits.signature_failures_per_minute: must be between 0 and 100000",
		"limits.unsigned_posts_per_address: must be between 0 and 100000",
	)
}
