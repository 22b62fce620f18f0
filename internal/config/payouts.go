package config

// Payouts holds the settings of the section `payouts`.
type Payouts struct {
	// How many days after delivery a lead can still be returned, `1` to `365`. For older leads, add an
	// adjustment instead.
	ReturnDays int
}

func defaultPayouts() Payouts { return Payouts{ReturnDays: 30} }

func (p *Payouts) fields() []field {
	return []field{whole("return_days", &p.ReturnDays)}
}

// Validate checks the section. Its error has the type Problems and contains all problems.
func (p *Payouts) Validate() error {
	var ps Problems
	between(&ps, "payouts.return_days", p.ReturnDays, 1, 365)
	return ps.asError()
}
