package config

import (
	"testing"
	"time"
)

func TestLimitsValidate(t *testing.T) {
	checkProblems(t, (&Limits{}).Validate())
	checkProblems(t, (&Limits{
		MatchConcurrency: 100_000,
		MatchWait:        10 * time.Second,
		PostWait:         time.Minute,
	}).Validate())
	checkProblems(t, (&Limits{
		MatchConcurrency:           -1,
		MatchWait:                  11 * time.Second,
		MatchFailuresPerMinute:     100_001,
		PostConcurrency:            -1,
		PostWait:                   -1,
		SignatureFailuresPerMinute: -1,
		PingsPerAddress:            100_001,
		PostsPerPartner:            -1,
		UnsignedPostsPerAddress:    100_001,
		SharedPingsPerAddress:      -1,
		PingLogMiBPerDay:           100_001,
	}).Validate(),
		"limits.match_concurrency",
		"limits.match_failures_per_minute",
		"limits.match_wait",
		"limits.ping_log_mib_per_day",
		"limits.pings_per_address",
		"limits.post_concurrency",
		"limits.post_wait",
		"limits.posts_per_partner",
		"limits.shared_pings_per_address",
		"limits.signature_failures_per_minute",
		"limits.unsigned_posts_per_address",
	)
}
