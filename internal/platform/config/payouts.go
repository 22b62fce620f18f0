package config

// Payouts holds the settings of the section `payouts`.
type Payouts struct {
	// How many days after delivery a lead can still be returned, `1` to `365`. For older leads, add an
	// adjustment instead.
	ReturnDays int

	// The sum up to which a user can adjust balances alone on a UTC day, for each currency, `0` to
	// `1000000`. Above it, another user must approve the adjustment. Returns that a user both requests and
	// accepts have a limit of the same amount. The values are whole amounts, such as `{GBP: 500, EUR: 600}`
	// in the file or `GBP=500,EUR=600` in the variable. Currencies that are not listed have the limit 500.
	ApprovalLimits map[string]int
}

func defaultPayouts() Payouts {
	return Payouts{
		ReturnDays:     30,
		ApprovalLimits: map[string]int{"AUD": 500, "CAD": 500, "EUR": 500, "GBP": 500, "USD": 500},
	}
}

func (p *Payouts) fields() []field {
	return []field{whole("return_days", &p.ReturnDays), amountsByCurrency("approval_limits", &p.ApprovalLimits)}
}

// Validate checks the section. Its error has the type Problems and contains all problems.
func (p *Payouts) Validate() error {
	const million = 1_000_000
	var ps Problems
	between(&ps, "payouts.return_days", p.ReturnDays, 1, 365)
	for currency, limit := range p.ApprovalLimits {
		between(&ps, keyedPath("payouts.approval_limits", currency), limit, 0, million)
	}
	return ps.asError()
}
