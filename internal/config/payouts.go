package config

// Payouts holds the rules for returns and payouts.
type Payouts struct {
	ReturnDays int // days after delivery in which a lead can be returned
}

func defaultPayouts() Payouts { return Payouts{ReturnDays: 30} }

func (p *Payouts) fields() []field {
	return []field{whole("return_days", &p.ReturnDays)}
}

// Validate returns all problems in the section as Problems.
func (p *Payouts) Validate() error {
	var ps Problems
	between(&ps, "payouts.return_days", p.ReturnDays, 1, 365)
	return ps.asError()
}
