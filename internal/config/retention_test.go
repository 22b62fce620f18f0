package config

import "testing"

func TestRetentionValidate(t *testing.T) {
	checkProblems(t, (&Retention{PingsDays: 1, RefusalsPerPartner: 1, TrafficDays: 1}).Validate())
	checkProblems(t, (&Retention{PingsDays: 3650, RefusalsPerPartner: 10_000, TrafficDays: 3650}).Validate())
	checkProblems(t, (&Retention{PingsDays: 3651, RefusalsPerPartner: 10_001}).Validate(),
		"retention.pings_days",
		"retention.refusals_per_partner",
		"retention.traffic_days",
	)
}
