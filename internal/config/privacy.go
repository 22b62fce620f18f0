package config

// Privacy holds the settings of the section `privacy`. These settings determine how staff handle
// consumers' personal data.
type Privacy struct {
	// How many fields of contact records each user may view per day (UTC), `1` to `10000`. All uses of
	// `pingpost lead reveal`, on any machine, together count as one user. When a user reaches 80% of the
	// limit, a warning is added to the audit log.
	RevealsPerDay int
}

func defaultPrivacy() Privacy { return Privacy{RevealsPerDay: 50} }

func (p *Privacy) fields() []field {
	return []field{whole("reveals_per_day", &p.RevealsPerDay)}
}

// Validate checks the section and returns all problems as Problems.
func (p *Privacy) Validate() error {
	var ps Problems
	between(&ps, "privacy.reveals_per_day", p.RevealsPerDay, 1, 10_000)
	return ps.asError()
}
