package config

// SigningMode determines whether unsigned posts are accepted (decision 14).
type SigningMode string

const (
	SigningRequired   SigningMode = "required"    // rejected
	SigningReportOnly SigningMode = "report_only" // accepted, counted as "would have been rejected"
	SigningOff        SigningMode = "off"         // accepted
)

// Signing holds the settings of the section `signing`.
type Signing struct {
	// What happens to unsigned posts, unless the partner or account has its own mode: `required` rejects
	// them, `report_only` accepts and reports them, and `off` accepts them. This setting also applies to
	// unsigned posts that do not identify a partner; these belong to the platform account. The node logs
	// a warning for any mode other than `required`.
	DefaultMode SigningMode
}

func defaultSigning() Signing { return Signing{DefaultMode: SigningRequired} }

func (s *Signing) fields() []field {
	return []field{text("default_mode", &s.DefaultMode)}
}

// Validate checks the section. Its error has the type Problems and contains all problems.
func (s *Signing) Validate() error {
	var ps Problems
	oneOf(&ps, "signing.default_mode", s.DefaultMode, SigningRequired, SigningReportOnly, SigningOff)
	return ps.asError()
}
