package quote

import (
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
)

// IDRange returns the range of ids that can belong to leads received between from and until. It does not
// include end. The range is extended at both ends, because an id contains the time of the ping: up to
// Validity before the post, or up to MaxAhead after it if the clocks of two nodes differ.
func IDRange(from, until time.Time) (first, end uuid.UUID) {
	return id.First(from.Add(-Validity)), id.First(until.Add(MaxAhead))
}
