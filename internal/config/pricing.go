package config

// Pricing holds the rules for publishing prices.
type Pricing struct {
	SecondPerson bool // somebody else approves what one person submits
}

func defaultPricing() Pricing { return Pricing{} }

func (p *Pricing) fields() []field {
	return []field{flag("second_person", &p.SecondPerson)}
}

// Validate reports every problem of the section as Problems: there is none to have.
func (p *Pricing) Validate() error { return nil }
