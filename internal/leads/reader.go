package leads

import (
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// Reader reads leads for the console, without personal data.
type Reader struct {
	db    *postgres.DB
	keys  *keyring.Keys
	clock clock.Clock
	by    audit.Actor
	limit scanLimits

	partitions *partitions
}

// scanLimits contains the maximum numbers of leads that List examines for a page. The limit is lower
// if only some partners are listed, because their leads are scattered and each may be on a different
// disk page.
type scanLimits struct{ allPartners, onePartner int }

var defaultScanLimits = scanLimits{allPartners: 10_000, onePartner: 3_000}

// NewReader returns a Reader. It uses keys to compute the digests for searches.
func NewReader(db *postgres.DB, keys *keyring.Keys, c clock.Clock) *Reader {
	return &Reader{db: db, keys: keys, clock: c, by: audit.Service, limit: defaultScanLimits, partitions: &partitions{}}
}

// By returns a Reader whose searches are recorded in the audit log under the given actor.
func (r *Reader) By(actor audit.Actor) *Reader {
	mine := *r
	mine.by = actor
	return &mine
}
