package config

import (
	"maps"
	"testing"
)

func TestApprovalLimits(t *testing.T) {
	cfg, err := loadText("payouts: {approval_limits: {GBP: 500, EUR: 0}}\n", sufficient()...)
	if want := map[string]int{"GBP": 500, "EUR": 0}; err != nil || !maps.Equal(cfg.Payouts.ApprovalLimits, want) {
		t.Errorf("got %v and error %v, want %v", cfg.Payouts.ApprovalLimits, err, want)
	}
	for _, wrong := range []string{"{GBP: -1}", "{GBP: 1000001}", "{GBP: 1.5}", "{JPY: 1}", "{gbp: 1}", "500"} {
		_, err := loadText("payouts: {approval_limits: "+wrong+"}\n", sufficient()...)
		if ps := problemsOf(err); len(ps) != 1 {
			t.Errorf("%s: got problems %v, want 1", wrong, ps)
		}
	}
}
