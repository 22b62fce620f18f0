package intake

import (
	"slices"
	"testing"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/models"
)

// The checks of a post without a signature do not include the check of the signature's format.
func TestChecksOfRejectedPosts(t *testing.T) {
	t.Parallel()
	const unknown = string(models.OutcomeUnknownAccount)
	for name, c := range map[string]struct {
		rejection Rejection
		unsigned  bool
	}{
		"no signature":          {Rejection{Outcome: "signature_missing", Code: apperr.SignatureMissing}, true},
		"unknown, unsigned":     {Rejection{Outcome: unknown, Code: apperr.SignatureMissing}, true},
		"unknown, by default":   {Rejection{Outcome: unknown, Code: apperr.PayloadInvalid}, true},
		"unknown, signed":       {Rejection{Outcome: unknown, Code: apperr.PayloadInvalid, Signed: true}, false},
		"inactive, by default":  {Rejection{Outcome: string(models.OutcomeInactive), Code: apperr.PayloadInvalid}, true},
		"payload, unsigned":     {Rejection{Outcome: "payload", Code: apperr.PayloadInvalid, Owned: true}, true},
		"payload, signed":       {Rejection{Outcome: "payload", Code: apperr.PayloadInvalid, Signed: true}, false},
		"wrong signature":       {Rejection{Outcome: "signature", Code: apperr.SignatureInvalid}, false},
		"malformed signature":   {Rejection{Outcome: "signature", Code: apperr.SignatureMalformed}, false},
		"late":                  {Rejection{Outcome: "timestamp_window"}, false},
		"unsigned with a time":  {Rejection{Outcome: "timestamp_format", Owned: true}, true},
		"too many, not checked": {Rejection{Outcome: "too_many"}, false},
	} {
		c.rejection.Endpoint = EndpointPost
		checks := c.rejection.Checks()
		if got := !slices.Contains(checks, CheckSignatureFormat); got != c.unsigned {
			t.Errorf("%s: got unsigned %t, want %t: %v", name, got, c.unsigned, checks)
		}
		if failed := c.rejection.FailedCheck(); !slices.Contains(checks, failed) {
			t.Errorf("%s: the checks %v do not contain the failed one, %q", name, checks, failed)
		}
	}
}
