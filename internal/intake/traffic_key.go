package intake

import "github.com/google/uuid"

// Endpoints of traffic and rejections.
const (
	EndpointPing = "ping"
	EndpointPost = "post"
)

// TrafficKey is the key that requests are counted by in each minute. A nil UUID means unknown.
type TrafficKey struct {
	Partner, Account, Secret uuid.UUID
	Endpoint, Outcome        string
}
