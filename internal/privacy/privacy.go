// Package privacy lets staff read and erase consumers' personal data, and replace disclosure texts, with a
// recorded reason.
//
// Nothing else decrypts contact records, except `pingpost keys reseal`, which computes lookup digests
// again. The package does the same for legal holds on persons.
package privacy

import (
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/letters"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Settings limits what staff may do and how long data is stored, and contains the texts of exports.
type Settings struct {
	RevealsPerDay   int               // limit for each user
	LookupsPerDay   int               // limit for each user
	RequireApproval bool              // whether a privacy request needs two users
	RequestDays     int               // for which closed privacy requests are stored
	Law             models.PrivacyLaw // of requests for which no other law is chosen; "" for the GDPR
	Letters         *letters.Letters  // nil for the built-in letters
	Controller      string
	Purposes        string
	Recipients      string
	NamesRecipients bool      // whether Recipients is not only a description
	Retention       Retention // as configured

	JournalFingerprint string // of the key with which the erasure journal begins; "" if it is not configured
}

// Service reads and erases personal data on behalf of a user, and erases it when its retention period has
// passed.
type Service struct {
	db       *postgres.DB
	leads    *leads.Store
	reader   *leads.Reader
	files    *blobstore.Store
	keys     *envelope.Wrappers
	platform *keyring.Keys
	journal  journal.Store
	clock    clock.Clock
	settings Settings
	by       audit.Actor
	readable *readable
}

// NewService returns a service. It decrypts contact records with keys, searches for people and seals exports
// with the platform keys, and records erasures in j. If j is nil, erasures are rejected.
func NewService(
	db *postgres.DB, keys *envelope.Wrappers, platform *keyring.Keys, j journal.Store, c clock.Clock, s Settings,
) *Service {
	return &Service{
		db: db, leads: leads.NewStore(db.Pool), reader: leads.NewReader(db, platform, c), files: blobstore.NewStore(db, platform, c),
		keys: keys, platform: platform, journal: j, clock: c, settings: s, by: audit.Service, readable: &readable{},
	}
}

// By returns a Service that acts on behalf of the given actor.
func (s *Service) By(actor audit.Actor) *Service {
	theirs := *s
	theirs.by = actor
	return &theirs
}
