package leads

import (
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/sealed"
	"github.com/pingpost/pingpost/internal/store"
)

// Office is where people look at leads, without what is personal in them. What
// partners deliver is the Store's.
type Office struct {
	db    *store.DB
	keys  *sealed.Keys
	clock clock.Clock
	by    audit.Actor
	look  look
}

// look is how many leads a page of the list examines at most. Those of some partners lie
// scattered among everybody's: a lead is a page of the disk then.
type look struct{ everybodys, partners int }

var atMost = look{everybodys: 10_000, partners: 3_000}

// NewOffice is one on the service's database; keys make the digests of a look-up.
func NewOffice(db *store.DB, keys *sealed.Keys, c clock.Clock) *Office {
	return &Office{db: db, keys: keys, clock: c, by: audit.Service, look: atMost}
}

// By is the office on behalf of somebody.
func (o *Office) By(who audit.Actor) *Office {
	mine := *o
	mine.by = who
	return &mine
}
