package intake

import "github.com/google/uuid"

// Endpoints of traffic and refusals.
const (
	EndpointPing = "ping"
	EndpointPost = "post"
)

// TrafficKey is what traffic is counted by, besides the minute. The nil uuid is "not known".
type TrafficKey struct {
	Partner, Account, Secret uuid.UUID
	Endpoint, Outcome        string
}
