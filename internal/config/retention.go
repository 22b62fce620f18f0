package config

// Retention says how long the records around leads are kept. Leads themselves
// have rules of their own and are not here.
type Retention struct {
	PingsDays            int // the pings log (decision 2)
	RejectionsPerPartner int // the ring of recent refusals (decision 24)
	TrafficDays          int // the counters by minute (decision 24)
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

// Validate reports every problem of the section as Problems.
func (r *Retention) Validate() error {
	const tenYears = 3650
	var ps Problems
	between(&ps, "retention.pings_days", r.PingsDays, 1, tenYears)
	between(&ps, "retention.rejections_per_partner", r.RejectionsPerPartner, 1, 10_000)
	between(&ps, "retention.traffic_days", r.TrafficDays, 1, tenYears)
	return ps.asError()
}
