package quote

import (
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
)

// IDRange returns the range of ids that the leads received from one time until another can have. The end
// is exclusive. A lead's id contains the time of the ping, which is at most Validity before the time of
// the post. If the clocks of two nodes differ, the ping's time may also be up to MaxAhead after the
// post's.
func IDRange(from, until time.Time) (first, end uuid.UUID) {
	return id.First(from.Add(-Validity)), id.First(until.Add(MaxAhead))
}
