package config

// Pricing holds the settings of the section `pricing`.
type Pricing struct {
	// Whether a second user must approve a draft before it is published, and a change to partner pricing
	// before it takes effect: `true` or `false`. If it is `true`, `pingpost pricing publish` only
	// submits the draft for approval. Prices cannot be approved on the command line.
	RequireApproval bool
}

func defaultPricing() Pricing { return Pricing{} }

func (p *Pricing) fields() []field {
	return []field{flag("require_approval", &p.RequireApproval)}
}

// Validate returns nil, because every value of the section is valid.
func (p *Pricing) Validate() error { return nil }
