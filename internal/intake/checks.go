package intake

import (
	"slices"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/models"
)

// Check is one of the checks of a request. A request is rejected by the first check that fails.
type Check string

// These are the checks of pings and posts.
const (
	CheckURL             Check = "url"  // the base URL, the path and the method
	CheckBody            Check = "body" // its size and completeness
	CheckRate            Check = "rate"
	CheckTimestamp       Check = "timestamp"
	CheckSignatureFormat Check = "signature_format"
	CheckOwner           Check = "owner" // to whom the post belongs
	CheckSignature       Check = "signature"
	CheckJSON            Check = "json"
	CheckFields          Check = "fields"
	CheckTransaction     Check = "transaction" // the format of the transactionId, and the owner of the quote
	CheckExpiry          Check = "expiry"
	CheckDelivery        Check = "delivery" // that the transaction has no lead yet
	CheckActive          Check = "active"
	CheckStoring         Check = "storing"
	CheckPrice           Check = "price"
)

// Rejection is what is known about a rejected request.
type Rejection struct {
	Endpoint, Outcome string
	Code              apperr.PublicCode
	Signed            bool // the signature is valid
	Owned             bool // the account is known
}

// Checks returns the checks of the request in their order (decisions 12, 59). The shared base URL rejects posts of
// unknown and inactive accounts in CheckOwner, and a partner's own base URL in CheckFields and CheckActive.
func (r Rejection) Checks() []Check {
	switch r.Endpoint {
	case EndpointPing:
		return []Check{CheckURL, CheckBody, CheckRate, CheckJSON, CheckFields, CheckPrice}
	case EndpointPost:
		return postChecks(!r.unsigned())
	}
	return []Check{CheckURL}
}

// unsigned reports whether the request is known to be a post without a signature.
func (r Rejection) unsigned() bool {
	failed := r.FailedCheck()
	return r.Code == apperr.SignatureMissing ||
		r.Owned && failed == CheckTimestamp || // the owner of a signed post is not known yet
		!r.Signed && slices.Contains(contentChecks, failed) ||
		!r.Signed && failed == CheckOwner && r.Code == apperr.PayloadInvalid
}

// contentChecks are the checks of a post after those of its sender.
var contentChecks = []Check{
	CheckJSON, CheckFields, CheckTransaction, CheckExpiry, CheckDelivery, CheckActive, CheckStoring,
}

func postChecks(signed bool) []Check {
	sender := []Check{CheckTimestamp, CheckSignatureFormat, CheckRate, CheckOwner, CheckSignature}
	if !signed {
		sender = []Check{CheckRate, CheckOwner, CheckSignature, CheckTimestamp}
	}
	return slices.Concat([]Check{CheckURL, CheckBody}, sender, contentChecks)
}

// FailedCheck returns the check that rejected a request. It returns "" if the request was not rejected by a check.
func (r Rejection) FailedCheck() Check {
	switch r.Outcome {
	case ErrUnknownSlug.Reason, "not_found", "method":
		return CheckURL
	case "incomplete", "too_large":
		return CheckBody
	case errTooMany.Reason:
		return CheckRate
	case signing.ErrNoTimestamp.Reason, signing.ErrTimestampFormat.Reason, signing.ErrTimestampWindow.Reason:
		return CheckTimestamp
	case errMatchTooLarge.Reason:
		return CheckOwner
	case signing.ErrNoSignature.Reason:
		return CheckSignature
	case signing.ErrSignature.Reason:
		if r.Code == apperr.SignatureMalformed {
			return CheckSignatureFormat
		}
		return CheckSignature
	case string(models.OutcomeUnknownAccount):
		if r.Signed && r.Code == apperr.PayloadInvalid {
			return CheckFields
		}
		return CheckOwner
	case string(models.OutcomeInactive):
		if r.Code == apperr.AccountInactive {
			return CheckActive
		}
		return CheckOwner
	case "json":
		return CheckJSON
	case "payload":
		return CheckFields
	case errTransactionID.Reason, errQuoteOwner.Reason:
		return CheckTransaction
	case errExpired.Reason:
		return CheckExpiry
	case errDelivered.Reason:
		return CheckDelivery
	case errNotStored.Reason, errNoWrapper.Reason:
		if r.Owned { // otherwise, the node was overloaded or had just started, and checked nothing
			return CheckStoring
		}
	case "sealing":
		return CheckPrice
	}
	return ""
}
