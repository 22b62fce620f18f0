package quote

import (
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
)

// IDRange returns the range of the ids of all quotes on which a lead can be received from one time
// until another. The end is exclusive. An id contains the time of the ping, which is at most Validity
// before the post. If the clocks of two nodes differ, it may be up to MaxAhead after the post.
func IDRange(from, until time.Time) (first, end uuid.UUID) {
	return id.First(from.Add(-Validity)), id.First(until.Add(MaxAhead))
}
