package config

// Retention holds the settings of the section `retention`. These settings determine how long
// records about traffic are stored. Leads, consents and the ledger are not affected.
type Retention struct {
	// For how many days pings are stored, 1 to 3650. The table of pings is the largest table. A replay
	// of a draft can only go back this far.
	PingsDays int

	// How many recent rejections are stored for each partner, 1 to 10000. The console shows them.
	RejectionsPerPartner int

	// For how many days the traffic counters by minute are stored, 1 to 3650. With the default, a month
	// can be compared with the same month of the previous year.
	TrafficDays int

	// For how many days closed privacy requests are stored, 1 to 3650. They contain lead IDs, but no
	// contact data.
	RequestsDays int
}

func defaultRetention() Retention {
	return Retention{PingsDays: 90, RejectionsPerPartner: 200, TrafficDays: 400, RequestsDays: 365}
}

func (r *Retention) fields() []field {
	return []field{
		whole("pings_days", &r.PingsDays),
		whole("rejections_per_partner", &r.RejectionsPerPartner),
		whole("traffic_days", &r.TrafficDays),
		whole("requests_days", &r.RequestsDays),
	}
}

// Validate checks the section. Its error has the type Problems and contains all problems.
func (r *Retention) Validate() error {
	const tenYears = 3650
	var ps Problems
	between(&ps, "retention.pings_days", r.PingsDays, 1, tenYears)
	between(&ps, "retention.rejections_per_partner", r.RejectionsPerPartner, 1, 10_000)
	between(&ps, "retention.traffic_days", r.TrafficDays, 1, tenYears)
	between(&ps, "retention.requests_days", r.RequestsDays, 1, tenYears)
	return ps.asError()
}
