// Package privacy builds the services that read and erase consumers' personal data.
package privacy

import (
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/consents"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/notes"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/internal/retention"
	"github.com/pingpost/pingpost/internal/reveal"
)

// Services contains the services that read and erase consumers' personal data.
type Services struct {
	Erasures  *erasure.Service
	Reveals   *reveal.Service
	Retention *retention.Service
	Consents  *consents.Service
	Notes     *notes.Service
	Requests  *requests.Service
}

// Settings contains the settings of the services.
type Settings struct {
	Erasures  erasure.Settings
	Reveals   reveal.Limits
	Retention retention.Periods
	Requests  requests.Settings
}

// NewServices returns the services. They decrypt contact records with keys. If j is nil, they reject erasures.
func NewServices(
	db *postgres.DB, queue *jobs.Queue, keys *envelope.Wrappers, platform *keyring.Keys, j journal.Store, c clock.Clock,
	s Settings,
) Services {
	erasures := erasure.NewService(db, keys, platform, j, c, s.Erasures)
	reveals := reveal.NewService(db, keys, platform, erasures, c, s.Reveals)
	return Services{
		Erasures:  erasures,
		Reveals:   reveals,
		Retention: retention.NewService(db, erasures, queue, c, s.Retention),
		Consents:  consents.NewService(db, erasures, c),
		Notes:     notes.NewService(db, erasures, reveals, c),
		Requests:  requests.NewService(db, keys, platform, erasures, reveals, c, s.Requests),
	}
}

// By returns the services that act on behalf of the given actor.
func (s Services) By(actor audit.Actor) Services {
	return Services{
		Erasures: s.Erasures.By(actor), Reveals: s.Reveals.By(actor), Retention: s.Retention.By(actor),
		Consents: s.Consents.By(actor), Notes: s.Notes.By(actor), Requests: s.Requests.By(actor),
	}
}
