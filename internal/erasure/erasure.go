// Package erasure erases the personal data of leads, and places legal holds, which prevent that.
//
// Each erasure is recorded in the erasure journal, which is outside the database. After an older backup has been
// restored, the erasures in the journal are carried out again. Until then, no personal data may be read.
package erasure

import (
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// Settings configures erasures.
type Settings struct {
	RequireApproval    bool   // whether an erasure needs two users
	JournalFingerprint string // of the key with which the erasure journal begins; "" if it is not configured
}

// Service erases leads and manages legal holds. By selects the user on whose behalf it acts. Without By, it acts
// as the service itself.
type Service struct {
	db       *postgres.DB
	leads    *leads.Store
	keys     *envelope.Wrappers
	platform *keyring.Keys
	journal  journal.Store
	clock    clock.Clock
	settings Settings
	by       audit.Actor
	readable *readable
}

// NewService returns a service. It records erasures in j. If j is nil, it rejects erasures. It signs the journal's
// entries and computes lookup digests with the platform keys. To place a legal hold on a person, it may have to
// decrypt a contact record with keys.
func NewService(
	db *postgres.DB, keys *envelope.Wrappers, platform *keyring.Keys, j journal.Store, c clock.Clock, s Settings,
) *Service {
	return &Service{
		db: db, leads: leads.NewStore(db.Pool), keys: keys, platform: platform, journal: j, clock: c, settings: s,
		by: audit.Service, readable: &readable{},
	}
}

// By returns a Service that acts on behalf of the given actor.
func (s *Service) By(actor audit.Actor) *Service {
	theirs := *s
	theirs.by = actor
	return &theirs
}
