package intake

import "github.com/google/uuid"

// Values of TrafficKey.Endpoint. Requests to other URLs are not counted.
const (
	EndpointPing = "ping"
	EndpointPost = "post"
	// EndpointUnknown is any other URL below a partner's own base URL. It occurs only in the request log.
	EndpointUnknown = "unknown"
)

// TrafficKey is the combination of values under which requests are counted. An ID that is uuid.Nil is
// unknown.
type TrafficKey struct {
	Partner, Account, Secret uuid.UUID
	Endpoint, Outcome        string
}
