package web

import "testing"

func TestActionLabel(t *testing.T) {
	t.Parallel()
	for action, want := range map[string]string{
		"login":              "sign in",
		"pricing.create":     "create draft",
		"partner.approve":    "approve partner",
		"payout_run.prepare": "prepare payout run",
		"staff.write":        "change staff",
		"unknown":            "unknown",
	} {
		if got := actionLabel(action); got != want {
			t.Errorf("%s: got %q, want %q", action, got, want)
		}
	}
}
