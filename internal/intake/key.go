package intake

import "github.com/google/uuid"

// Endpoints of traffic and refusals.
const (
	EndpointPing = "ping"
	EndpointPost = "post"
)

// Key is what traffic is counted by, besides the minute. The nil uuid is "not known".
type Key struct {
	Partner, Account, Secret uuid.UUID
	Endpoint, Outcome        string
}
