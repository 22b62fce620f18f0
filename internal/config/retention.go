package config

// Retention holds how long records about traffic are stored. It does not apply to leads.
type Retention struct {
	PingsDays            int // ping log (decision 2)
	RejectionsPerPartner int // recent rejections, of each partner (decision 24)
	TrafficDays          int // counters per minute (decision 24)
}

func defaultRetention() Retention {
	return Retention{PingsDays: 90, RejectionsPerPartner: 200, TrafficDays: 400}
}

func (r *Retention) fields() []field {
	return []field{
		whole("pings_days", &r.PingsDays),
		whole("rejections_per_partner", &r.RejectionsPerPartner),
		whole("traffic_days", &r.TrafficDays),
	}
}

// Validate returns all problems in the section as Problems.
func (r *Retention) Validate() error {
	const tenYears = 3650
	var ps Problems
	between(&ps, "retention.pings_days", r.PingsDays, 1, tenYears)
	between(&ps, "retention.rejections_per_partner", r.RejectionsPerPartner, 1, 10_000)
	between(&ps, "retention.traffic_days", r.TrafficDays, 1, tenYears)
	return ps.asError()
}
