package models

// RequestKind determines which limit a logged request of the partner API counts towards (decision 65).
type RequestKind string

// These are the kinds of logged requests.
const (
	RequestSignedPost  RequestKind = "signed_post" // the signature was valid
	RequestOtherPost   RequestKind = "other_post"
	RequestPing        RequestKind = "ping"
	RequestRateLimited RequestKind = "rate_limited" // a ping or post that got a 429
)
