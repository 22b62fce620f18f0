package leads

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
)

// Cursor is a position in the list of leads, which is ordered by time of receipt. The id determines
// the order of leads with the same time. The zero value means that there is no position.
type Cursor struct {
	ReceivedAt time.Time
	ID         uuid.UUID
}

// String returns the cursor as text for a URL, or "" for the zero value.
func (c Cursor) String() string {
	if c.IsZero() {
		return ""
	}
	return fmt.Sprintf("%d-%s", c.ReceivedAt.UnixMicro(), id.Format(id.Lead, c.ID))
}

// ParseCursor parses the text of a cursor. For "", it returns the zero value.
func ParseCursor(text string) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	micros, lead, _ := strings.Cut(text, "-")
	n, err := strconv.ParseInt(micros, 10, 64)
	u, wrong := id.Parse(id.Lead, lead)
	at := time.UnixMicro(n).UTC()
	if err != nil || wrong != nil || at.Before(earliest.ReceivedAt) || at.After(latest.ReceivedAt) {
		return Cursor{}, errors.New("not a cursor of the list of leads")
	}
	return Cursor{at, u}, nil
}

// earliest and latest are positions before and after all leads.
var (
	earliest = Cursor{ReceivedAt: time.Unix(0, 0).UTC()}
	latest   = Cursor{ReceivedAt: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), ID: uuid.Max}
)

// IsZero reports whether c is the zero value, which means that there is no position.
func (c Cursor) IsZero() bool { return c == Cursor{} }

func (c Cursor) compare(d Cursor) int {
	return cmp.Or(c.ReceivedAt.Compare(d.ReceivedAt), id.Compare(c.ID, d.ID))
}

// next returns the position that directly follows c.
func (c Cursor) next() Cursor {
	for i := len(c.ID) - 1; i >= 0; i-- {
		if c.ID[i]++; c.ID[i] != 0 {
			break
		}
	}
	return c
}
