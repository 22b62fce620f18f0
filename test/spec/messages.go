// Package spec contains the messages that partners rely on. They are defined by the specification and by
// decisions 3, 22, 26 and 33.
package spec

const (
	InvalidJSON          = "Invalid JSON payload"
	InvalidPing          = "Invalid lead ping payload"
	InvalidPost          = "Invalid lead post payload"
	ConsentRequired      = "affirmative consent acknowledged: true is required"
	InvalidTransactionID = "Invalid transactionId format"
	TransactionExpired   = "Transaction has expired"
	AlreadyDelivered     = "Transaction has already been delivered"
	TimestampMissing     = "Missing X-Timestamp header for replay attack protection"
	TimestampFormat      = "Invalid X-Timestamp header format"
	TimestampWindow      = "Timestamp outside allowed 300s tolerance window"
	BadSignature         = "Invalid HMAC SHA-256 signature"
	SignatureMissing     = "Missing required X-Signature-SHA256 header"
	MethodNotAllowed     = "Method Not Allowed"
	NotActive            = "Account is not active"
	NotFound             = "Not Found"
	RequestTimeout       = "Request Timeout"
	PayloadTooLarge      = "Payload Too Large"
	TooManyRequests      = "Too Many Requests"
	NoKeyWrapper         = "Lead intake encryption key (LEAD_VAULT_KEK) is not configured."
	NotSaved             = "Unable to save lead record."
	NotLoaded            = "The prices are not loaded yet. Send the ping again."
)

// Rejected returns the body of a rejection that has only a message.
func Rejected(message string) string { return `{"ok":false,"message":"` + message + `"}` }
