package leads

import (
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/sealed"
	"github.com/pingpost/pingpost/internal/store"
)

// Office is where people look at leads. What partners deliver is the Store's.
type Office struct {
	db    *store.DB
	keys  *sealed.Keys
	clock clock.Clock
}

// NewOffice is one on the service's database; keys make the digests of a look-up.
func NewOffice(db *store.DB, keys *sealed.Keys, c clock.Clock) *Office {
	return &Office{db, keys, c}
}
