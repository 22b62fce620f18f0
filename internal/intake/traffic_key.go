package intake

import "github.com/google/uuid"

// Values of TrafficKey.Endpoint.
const (
	EndpointPing = "ping"
	EndpointPost = "post"
)

// TrafficKey is the key under which requests are counted. uuid.Nil means unknown.
type TrafficKey struct {
	Partner, Account, Secret uuid.UUID
	Endpoint, Outcome        string
}
