// Package payload reads the partner API's two requests: strict JSON into typed
// values, with every problem named at once. It is pure: no I/O, no clock, no
// logging, and it keeps nothing between calls.
//
// Each parser works in two passes. The first finds out whether the body is JSON
// by decision 18 and leaves that judgement to jsontext. The second walks bytes that are
// known to be sound, picks the fields it knows, and checks them. What it returns
// is copied, so the caller may reuse the body's buffer.
package payload

import "github.com/pingpost/pingpost/internal/apperr"

// The refusals, with the specification's messages. ErrPing and ErrPost are
// returned as copies that list every problem, in the order of the
// specification's field tables.
var (
	ErrJSON = apperr.New(apperr.Invalid, "json", "Invalid JSON payload")
	ErrPing = apperr.New(apperr.Invalid, "payload", "Invalid lead ping payload")
	ErrPost = apperr.New(apperr.Invalid, "payload", "Invalid lead post payload")
)

// The longest texts, in code points (decision 17). A longer one is refused with too_long,
// never cut.
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
	maxAcknowledgedAt = 64
	maxDisclosureText = 10_000
	maxCertURL        = 2_048
	maxLeadToken      = 256
	maxNotes          = 10_000
	maxAnswers        = 100 // keys of the outermost object
	maxAnswerKey      = 256
)
