// Package spec contains the errors that partners rely on. Their messages are defined by the specification
// and by decisions 3, 22, 26 and 33, and their codes by decision 64.
package spec

// Rejection is the message and the code of an error.
type Rejection struct{ Message, Code string }

// ConsentRequired is the message of the entry in errors for a missing consent.
const ConsentRequired = "affirmative consent acknowledged: true is required"

// These are all errors of the partner API, except for those with status 500.
var (
	InvalidJSON              = Rejection{"Invalid JSON payload", "json_invalid"}
	InvalidPing              = Rejection{"Invalid lead ping payload", "payload_invalid"}
	InvalidPost              = Rejection{"Invalid lead post payload", "payload_invalid"}
	InvalidTransactionID     = Rejection{"Invalid transactionId format", "transaction_invalid"}
	TransactionExpired       = Rejection{"Transaction has expired", "transaction_expired"}
	ExpiredAfterDelivery     = Rejection{"Transaction has expired", "transaction_expired_delivered"}
	ExpiredUnsigned          = Rejection{"Transaction has expired", "transaction_expired_unsigned"}
	ExpiredUnknown           = Rejection{"Transaction has expired", "transaction_expired_unknown"}
	AlreadyDelivered         = Rejection{"Transaction has already been delivered", "transaction_delivered"}
	AlreadyDeliveredByOther  = Rejection{"Transaction has already been delivered", "transaction_delivered_by_other"}
	AlreadyDeliveredUnsigned = Rejection{"Transaction has already been delivered", "transaction_delivered_unsigned"}
	TimestampMissing         = Rejection{"Missing X-Timestamp header for replay attack protection", "timestamp_missing"}
	TimestampFormat          = Rejection{"Invalid X-Timestamp header format", "timestamp_malformed"}
	TimestampWindow          = Rejection{"Timestamp outside allowed 300s tolerance window", "timestamp_outside_window"}
	BadSignature             = Rejection{"Invalid HMAC SHA-256 signature", "signature_invalid"}
	MalformedSignature       = Rejection{"Invalid HMAC SHA-256 signature", "signature_malformed"}
	SignatureMissing         = Rejection{"Missing required X-Signature-SHA256 header", "signature_missing"}
	MethodNotAllowed         = Rejection{"Method Not Allowed", "method_not_allowed"}
	NotActive                = Rejection{"Account is not active", "account_inactive"}
	NotFound                 = Rejection{"Not Found", "url_not_found"}
	UnknownBaseURL           = Rejection{"Not Found", "base_url_unknown"}
	RequestTimeout           = Rejection{"Request Timeout", "request_incomplete"}
	PayloadTooLarge          = Rejection{"Payload Too Large", "body_too_large"}
	UnidentifiedTooLarge     = Rejection{"Payload Too Large", "unidentified_body_too_large"}
	TooManyRequests          = Rejection{"Too Many Requests", "rate_limited"}
	TooManyInvalidSignatures = Rejection{"Too Many Requests", "too_many_invalid_signatures"}
	NoKeyWrapper             = Rejection{
		"Lead intake encryption key (LEAD_VAULT_KEK) is not configured.", "encryption_key_missing",
	}
	NotSaved  = Rejection{"Unable to save lead record.", "outcome_unknown"}
	NotLoaded = Rejection{"The prices are not loaded yet. Send the ping again.", "service_unavailable"}
)

// Start returns the fields that each body of this error starts with.
func (r Rejection) Start() string {
	return `{"ok":false,"message":"` + r.Message + `","code":"` + r.Code + `"`
}

// Body returns the body of an error without other fields. It leaves out requestId.
func (r Rejection) Body() string { return r.Start() + "}" }
