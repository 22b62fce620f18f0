package leads

import (
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/postgres"
)

// Reader is where people look at leads, without what is personal in them. What
// partners deliver is the Store's.
type Reader struct {
	db    *postgres.DB
	keys  *keyring.Keys
	clock clock.Clock
	by    audit.Actor
	look  scanLimits
}

// scanLimits is how many leads a page of the list examines at most. Those of some partners lie
// scattered among everybody's: a lead is a page of the disk then.
type scanLimits struct{ allPartners, onePartner int }

var defaultScanLimits = scanLimits{allPartners: 10_000, onePartner: 3_000}

// NewReader is one on the service's database; keys make the digests of a look-up.
func NewReader(db *postgres.DB, keys *keyring.Keys, c clock.Clock) *Reader {
	return &Reader{db: db, keys: keys, clock: c, by: audit.Service, look: defaultScanLimits}
}

// By is the reader on behalf of somebody.
func (o *Reader) By(who audit.Actor) *Reader {
	mine := *o
	mine.by = who
	return &mine
}
