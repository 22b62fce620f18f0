package config

// SigningMode decides whether posts without a signature are accepted (decision 14).
type SigningMode string

const (
	SigningRequired   SigningMode = "required"    // rejected
	SigningReportOnly SigningMode = "report_only" // accepted, counted as "would have been rejected"
	SigningOff        SigningMode = "off"         // accepted
)

// Signing holds the default signing mode. It also applies to the platform account and to
// posts with an unknown partnerId (decision 13).
type Signing struct {
	DefaultMode SigningMode
}

func defaultSigning() Signing { return Signing{DefaultMode: SigningRequired} }

func (s *Signing) fields() []field {
	return []field{text("default_mode", &s.DefaultMode)}
}

// Validate returns all problems in the section as Problems.
func (s *Signing) Validate() error {
	var ps Problems
	oneOf(&ps, "signing.default_mode", s.DefaultMode, SigningRequired, SigningReportOnly, SigningOff)
	return ps.asError()
}
