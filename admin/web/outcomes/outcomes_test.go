package outcomes

import (
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// Each cause of an expired or already delivered transaction has its own fix, although the outcome is the same.
func TestRejectionFix(t *testing.T) {
	codes := map[string][]apperr.PublicCode{
		"expired": {
			apperr.TransactionExpired, apperr.TransactionExpiredDelivered, apperr.TransactionExpiredUnsigned,
			apperr.TransactionExpiredUnknown,
		},
		"already_delivered": {
			apperr.TransactionDelivered, apperr.TransactionDeliveredByOther, apperr.TransactionDeliveredUnsigned,
		},
	}
	causes := map[string]apperr.PublicCode{}
	for outcome, all := range codes {
		for _, code := range all {
			fix := Fix(outcome, string(code))
			if other, taken := causes[fix]; taken || fix == "" {
				t.Errorf("%s: got the fix %q, as for %q", code, fix, other)
			}
			causes[fix] = code
		}
	}
	for outcome := range reasons {
		if _, byCode := codes[outcome]; !byCode && Fix(outcome, "") == "" {
			t.Errorf("%s has no fix", outcome)
		}
	}
	// If the response says that the signature is missing, fixing only the cause that staff see does not help.
	for _, outcome := range []models.Outcome{models.OutcomeUnknownAccount, models.OutcomeInactive} {
		for name, fix := range map[string]func(outcome, code string) string{"staff": Fix, "partner": PartnerFix} {
			cause := fix(string(outcome), "")
			if got := fix(string(outcome), string(apperr.SignatureMissing)); !strings.HasPrefix(got, cause) ||
				!strings.Contains(got[len(cause):], "sign") {
				t.Errorf("%s, for the %s: got %q, want %q and the signature", outcome, name, got, cause)
			}
		}
	}
	if Fix("not_loaded", string(apperr.ServiceUnavailable)) == "" {
		t.Error("not_loaded has no fix")
	}
}

// Staff see that a partnerId is unknown, although the sender does not, and can search for it.
func TestUnknownPartnerIDIsLabelled(t *testing.T) {
	const outcome = string(models.OutcomeUnknownAccount)
	label := ReasonLabel(outcome)
	option := ui.Option{Value: outcome, Label: ui.Sentence(label)}
	if label != "unknown partnerId" || !slices.Contains(Logged(), option) {
		t.Errorf("got the label %q and the filter's options %v", label, Logged())
	}
}
