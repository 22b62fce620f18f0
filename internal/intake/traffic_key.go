package intake

import "github.com/google/uuid"

// Values of TrafficKey.Endpoint.
const (
	EndpointPing = "ping"
	EndpointPost = "post"
)

// TrafficKey is the combination of values under which requests are counted. An ID that is uuid.Nil is
// unknown.
type TrafficKey struct {
	Partner, Account, Secret uuid.UUID
	Endpoint, Outcome        string
}
