package config

import "testing"

func TestRetentionValidate(t *testing.T) {
	checkProblems(t, (&Retention{PingsDays: 1, RefusalsPerPartner: 1, TrafficDays: 1}).Validate())
	checkProblems(t, (&Retention{PingsDays: 3650, RefusalsPerPartner: 10_000, TrafficDays: 3650}).Validate())
	checkProblems(t, (&Retention{PingsDays: 3651, RefusalsPerPartner: 10_001}).Validate(),
		"retention.pings_days: must be between 1 and 3650",
		"retention.refusals_per_partner: must be between 1 and 10000",
		"retention.traffic_days: must be between 1 and 3650",
	)
}
