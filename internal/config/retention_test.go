package config

import "testing"

func TestRetentionValidate(t *testing.T) {
	checkProblems(t, (&Retention{PingsDays: 1, RejectionsPerPartner: 1, TrafficDays: 1, RequestsDays: 1}).Validate())
	checkProblems(t, (&Retention{PingsDays: 3650, RejectionsPerPartner: 10_000, TrafficDays: 3650, RequestsDays: 3650}).Validate())
	checkProblems(t, (&Retention{PingsDays: 3651, RejectionsPerPartner: 10_001}).Validate(),
		"retention.pings_days",
		"retention.rejections_per_partner",
		"retention.requests_days",
		"retention.traffic_days",
	)
}
