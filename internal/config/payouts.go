package config

// Payouts holds the rules for what happens to money after a lead has earned it.
type Payouts struct {
	ReturnDays int // how long after its delivery a lead can be returned
}

func defaultPayouts() Payouts { return Payouts{ReturnDays: 30} }

func (p *Payouts) fields() []field {
	return []field{whole("return_days", &p.ReturnDays)}
}

// Validate reports every problem of the section as Problems.
func (p *Payouts) Validate() error {
	var ps Problems
	between(&ps, "payouts.return_days", p.ReturnDays, 1, 365)
	return ps.asError()
}
