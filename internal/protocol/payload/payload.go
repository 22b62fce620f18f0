// Package payload parses the two requests of the partner API from strict JSON into typed values,
// and reports all problems at once. It does no I/O or logging, and uses no clock or global state.
//
// Each parser works in two passes. The first uses jsontext to check that the body is valid JSON
// as defined in decision 18. The second extracts the known fields from the valid JSON and checks
// them. Results are copied, so the caller may reuse the body's buffer.
package payload

import "github.com/pingpost/pingpost/internal/base/apperr"

// These errors have the messages that the specification requires. ErrJSON is returned as a copy with the
// position of the error. ErrInvalidPing and ErrInvalidPost are returned as copies that list every problem, in the order
// of the specification's field tables.
var (
	ErrJSON        = apperr.New(apperr.Invalid, "json", "Invalid JSON payload").WithPublicCode(apperr.JSONInvalid)
	ErrInvalidPing = apperr.New(apperr.Invalid, "payload", "Invalid lead ping payload").
			WithPublicCode(apperr.PayloadInvalid)
	ErrInvalidPost = apperr.New(apperr.Invalid, "payload", "Invalid lead post payload").
			WithPublicCode(apperr.PayloadInvalid)
)

// These are maximum string lengths, in code points (decision 17). A longer string is rejected with
// too_long, and never truncated.
const (
	maxUrgency        = 64
	maxJobType        = 256
	maxBudget         = 256
	maxPostcode       = 16 // after trimming
	maxPartnerID      = 128
	maxEmail          = 254
	maxName           = 200
	maxPhone          = 64
	maxAddress        = 500
	maxAcknowledgedAt = 64 // after trimming
	MaxDisclosureText = 10_000
	maxCertURL        = 2_048 // after trimming
	maxLeadToken      = 256
	maxNotes          = 10_000
	maxAnswers        = 100 // keys of the outermost object
	maxAnswerKey      = 256
)
