package leads

import (
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/postgres"
)

// Reader reads leads for the console, without personal data. Store handles deliveries.
type Reader struct {
	db    *postgres.DB
	keys  *keyring.Keys
	clock clock.Clock
	by    audit.Actor
	limit scanLimits
}

// scanLimits is the most leads that a page of the list examines. The limit for single partners is
// lower, because their leads are scattered: each may need another page from disk.
type scanLimits struct{ allPartners, onePartner int }

var defaultScanLimits = scanLimits{allPartners: 10_000, onePartner: 3_000}

// NewReader returns a Reader. keys make the digests for searches.
func NewReader(db *postgres.DB, keys *keyring.Keys, c clock.Clock) *Reader {
	return &Reader{db: db, keys: keys, clock: c, by: audit.Service, limit: defaultScanLimits}
}

// By returns the reader acting as who.
func (o *Reader) By(who audit.Actor) *Reader {
	mine := *o
	mine.by = who
	return &mine
}
