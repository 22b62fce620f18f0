package config

// Pricing holds the rules for publishing prices.
type Pricing struct {
	SecondPerson bool // a second user must approve changes of prices
}

func defaultPricing() Pricing { return Pricing{} }

func (p *Pricing) fields() []field {
	return []field{flag("second_person", &p.SecondPerson)}
}

// Validate returns nil: every value of the section is valid.
func (p *Pricing) Validate() error { return nil }
