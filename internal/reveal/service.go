// Package reveal decrypts fields of contact records for staff, and searches for a consumer's leads. Each access is
// recorded before it happens, and counts towards a daily limit of the user.
//
// It also lists who has viewed or exported the data of a lead. Contact records are decrypted elsewhere only for the
// export of a privacy request, for legal holds on persons, and by `pingpost keys reseal`, which computes lookup digests
// again.
package reveal

import (
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// Limits limits what each user may do on a UTC day.
type Limits struct {
	RevealsPerDay int
	LookupsPerDay int // searches for a consumer
}

// Service reveals contact data to a user, whom By selects. Without By, it acts as the service itself.
type Service struct {
	db       *postgres.DB
	leads    *leads.Store
	reader   *leads.Reader
	keys     *envelope.Wrappers
	erasures *erasure.Service
	clock    clock.Clock
	limits   Limits
	by       audit.Actor
}

// NewService returns a service. It decrypts contact records with keys and searches for consumers with the platform
// keys. It reveals nothing while the erasure journal of the service e is ahead of the database.
func NewService(
	db *postgres.DB, keys *envelope.Wrappers, platform *keyring.Keys, e *erasure.Service, c clock.Clock, l Limits,
) *Service {
	return &Service{
		db: db, leads: leads.NewStore(db.Pool), reader: leads.NewReader(db, platform, c), keys: keys, erasures: e,
		clock: c, limits: l, by: audit.Service,
	}
}

// By returns a Service that acts on behalf of the given actor.
func (s *Service) By(actor audit.Actor) *Service {
	theirs := *s
	theirs.by = actor
	return &theirs
}

func (s *Service) today() time.Time { return s.clock.Now().UTC().Truncate(24 * time.Hour) }
