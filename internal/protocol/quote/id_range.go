package quote

import (
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
)

// IDRange returns the range of ids that leads received in the given period can have. The range includes
// the id first, but not the id end. A lead's id contains the time of its ping, which can be up to
// Validity earlier than the post. If the clocks of two nodes differ, this time can also be up to
// MaxAhead later than the post. The range is extended at both ends accordingly.
func IDRange(from, until time.Time) (first, end uuid.UUID) {
	return id.First(from.Add(-Validity)), id.First(until.Add(MaxAhead))
}
