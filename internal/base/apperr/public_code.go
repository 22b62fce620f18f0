package apperr

// PublicCode is the cause of an error in a response of the partner API. Unlike Error.Reason, it contains
// only what the sender may know: causes that the sender must not be able to tell apart have the same
// code (decision 64). The constants below are the only codes. The OpenAPI document describes them.
type PublicCode string

// These are the codes of requests that the sender must correct.
const (
	JSONInvalid              PublicCode = "json_invalid"
	PayloadInvalid           PublicCode = "payload_invalid"
	TransactionInvalid       PublicCode = "transaction_invalid"
	TimestampMissing         PublicCode = "timestamp_missing"
	TimestampMalformed       PublicCode = "timestamp_malformed"
	TimestampOutsideWindow   PublicCode = "timestamp_outside_window"
	SignatureMissing         PublicCode = "signature_missing"
	SignatureMalformed       PublicCode = "signature_malformed"
	SignatureInvalid         PublicCode = "signature_invalid"
	AccountInactive          PublicCode = "account_inactive"
	URLNotFound              PublicCode = "url_not_found"
	BaseURLUnknown           PublicCode = "base_url_unknown"
	MethodNotAllowed         PublicCode = "method_not_allowed"
	BodyTooLarge             PublicCode = "body_too_large"
	UnidentifiedBodyTooLarge PublicCode = "unidentified_body_too_large"
)

// These are the codes of posts whose quote has expired, or whose transaction has already been delivered.
// They differ in what the sender learns about the delivery (decisions 3, 31).
const (
	TransactionExpired          PublicCode = "transaction_expired" // signed post; the sender has not delivered the lead
	TransactionExpiredDelivered PublicCode = "transaction_expired_delivered"
	TransactionExpiredUnsigned  PublicCode = "transaction_expired_unsigned"
	TransactionExpiredUnknown   PublicCode = "transaction_expired_unknown" // the lookup of the lead failed

	TransactionDelivered         PublicCode = "transaction_delivered"
	TransactionDeliveredByOther  PublicCode = "transaction_delivered_by_other"
	TransactionDeliveredUnsigned PublicCode = "transaction_delivered_unsigned"
)

// These are the codes of requests that can be repeated without a correction.
const (
	RequestIncomplete        PublicCode = "request_incomplete"
	RateLimited              PublicCode = "rate_limited"
	TooManyInvalidSignatures PublicCode = "too_many_invalid_signatures"
	InternalError            PublicCode = "internal_error"
	EncryptionKeyMissing     PublicCode = "encryption_key_missing"
	OutcomeUnknown           PublicCode = "outcome_unknown"
	ServiceUnavailable       PublicCode = "service_unavailable"
)
