package config

// SigningMode says what becomes of a post without a signature (decision 14).
type SigningMode string

const (
	SigningRequired   SigningMode = "required"    // refused
	SigningReportOnly SigningMode = "report_only" // accepted, counted as "would have been refused"
	SigningOff        SigningMode = "off"         // accepted
)

// Signing holds the platform's default, which also rules the house account and
// posts of an unknown partnerId (decision 13).
type Signing struct {
	DefaultMode SigningMode
}

func defaultSigning() Signing { return Signing{DefaultMode: SigningRequired} }

func (s *Signing) fields() []field {
	return []field{text("default_mode", &s.DefaultMode)}
}

// Validate reports every problem of the section as Problems.
func (s *Signing) Validate() error {
	var ps Problems
	oneOf(&ps, "signing.default_mode", s.DefaultMode, SigningRequired, SigningReportOnly, SigningOff)
	return ps.asError()
}
