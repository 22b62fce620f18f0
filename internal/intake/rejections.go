package intake

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/models"
)

// RecordRejection records a request that was rejected before its body was read completely, because the URL
// or method was wrong, or the body was too large or incomplete.
func (in *Intake) RecordRejection(endpoint, slug string, request uuid.UUID, start time.Time, err error) {
	partner, unknown := findBasePartner(in.Directory.Get(), slug)
	if unknown == nil {
		k := TrafficKey{Partner: partnerID(partner), Endpoint: endpoint}
		in.logRejection(loggedRequest{TrafficKey: k, id: request, at: start}, err)
	}
}

// logRejection counts a rejected request and logs it.
func (in *Intake) logRejection(r loggedRequest, err error) {
	f := apperr.As(err)
	if f == nil {
		f = apperr.Wrap(err, apperr.Internal, "error", "")
	}
	r.Outcome, r.status, r.code, r.message = f.Reason, f.Status(), f.PublicCode, f.Message
	if f.Detail != nil {
		r.detail = f.Detail.Reason + " at byte " + strconv.Itoa(f.Detail.Offset)
	}
	for _, field := range f.Fields {
		r.fields = append(r.fields, strings.Join(field.Path, "."))
	}
	if f.LeadID != "" {
		r.lead, _ = id.Parse(id.Lead, f.LeadID)
	}
	in.count(&r)
	in.Traffic.log(r)
}

// count sets the kind and the duration of a request, which ends now, and counts it if it was for an endpoint.
func (in *Intake) count(r *loggedRequest) {
	r.kind, r.took = kindOf(r.TrafficKey), in.Clock.Now().Sub(r.at)
	if r.Endpoint != EndpointUnknown {
		in.Traffic.Count(r.TrafficKey, r.at, r.took)
	}
}

// kindOf returns the kind of a request, which determines the limit that it counts towards. Requests that
// anyone can send do not push out signed posts, and 429s do not push out other rejections (decision 65).
func kindOf(k TrafficKey) models.RequestKind {
	switch {
	case k.Outcome == errTooMany.Reason:
		return models.RequestRateLimited
	case k.Endpoint == EndpointPing:
		return models.RequestPing
	case k.Secret != uuid.Nil:
		return models.RequestSignedPost
	}
	return models.RequestOtherPost
}

// newWrongSignature returns the data with which findSecret looks for the secret of a rejected post. It returns nil if
// the post was not rejected because of its signature, or if there is no room for its body.
func (in *Intake) newWrongSignature(
	req PostRequest, sender owner, start time.Time, err error,
) *wrongSignature {
	f := apperr.As(err)
	if f == nil || f.Code != signing.ErrSignature.Code {
		return nil
	}
	unknownAccount := f.Reason == string(models.OutcomeUnknownAccount)
	if !unknownAccount && f.Reason != signing.ErrSignature.Reason {
		return nil
	}
	claim, malformed := signing.Check(req.Headers, start)
	if malformed != nil || !in.Traffic.reserve(len(req.Body)) {
		return nil
	}
	w := &wrongSignature{claim, slices.Clone(req.Body), []*partners.Partner{sender.partner()}, unknownAccount}
	if sender.partner() == nil {
		w.partners = in.Directory.Get().Shared()
	}
	if sender.quoted != nil {
		w.partners = append([]*partners.Partner{sender.quoted}, w.partners...)
	}
	return w
}

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

// Rejection contains what is known about a rejected request.
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

// contentChecks are the checks of a post that follow the checks of its sender.
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
