package config

import "testing"

func TestSigningValidate(t *testing.T) {
	for _, mode := range []SigningMode{SigningRequired, SigningReportOnly, SigningOff} {
		checkProblems(t, (&Signing{DefaultMode: mode}).Validate())
	}
	for _, mode := range []SigningMode{"", "Required", "on"} {
		checkProblems(t, (&Signing{DefaultMode: mode}).Validate(), "signing.default_mode report_only")
	}
}
