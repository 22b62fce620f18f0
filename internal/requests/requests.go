// Package requests manages privacy requests, which are the requests of consumers about their personal data.
//
// Staff find the consumer's leads, check the consumer's identity, and then export or erase the leads, or close the
// request in another way. The law that applies determines the deadline and the grounds for a rejection.
package requests

import (
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/letters"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
)

// Settings configures privacy requests, and contains the texts of exports and letters.
type Settings struct {
	RequireApproval bool              // whether a privacy request needs two users
	RequestDays     int               // for which closed privacy requests are stored
	Law             models.PrivacyLaw // of requests for which no other law is chosen; "" for the GDPR
	Letters         *letters.Letters  // nil for the built-in letters
	Controller      string
	Purposes        string
	Recipients      string
	NamesRecipients bool // whether Recipients is not only a description
}

// Service answers privacy requests on behalf of a user, whom By selects. Without By, it acts as the service itself.
type Service struct {
	db       *postgres.DB
	leads    *leads.Store
	reader   *leads.Reader
	files    *blobstore.Store
	keys     *envelope.Wrappers
	erasures *erasure.Service
	reveals  *reveal.Service
	clock    clock.Clock
	settings Settings
	by       audit.Actor
}

// NewService returns a service. It decrypts contact records with keys, and searches for consumers and seals exports
// with the platform keys. It erases leads with the service e. Searches and exports count towards the daily limits of
// the service r.
func NewService(
	db *postgres.DB, keys *envelope.Wrappers, platform *keyring.Keys,
	e *erasure.Service, r *reveal.Service, c clock.Clock, s Settings,
) *Service {
	return &Service{
		db: db, leads: leads.NewStore(db.Pool), reader: leads.NewReader(db, platform, c),
		files: blobstore.NewStore(db, platform, c), keys: keys, erasures: e, reveals: r, clock: c, settings: s,
		by: audit.Service,
	}
}

// By returns a Service that acts on behalf of the given actor.
func (s *Service) By(actor audit.Actor) *Service {
	theirs := *s
	theirs.by, theirs.erasures, theirs.reveals = actor, s.erasures.By(actor), s.reveals.By(actor)
	return &theirs
}
