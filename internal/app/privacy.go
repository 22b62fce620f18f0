package app

import (
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/letters"
	"github.com/pingpost/pingpost/internal/consents"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/notes"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/internal/retention"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
)

// Privacy contains the services that read and erase consumers' personal data.
type Privacy struct {
	Erasures  *erasure.Service
	Reveals   *reveal.Service
	Retention *retention.Service
	Consents  *consents.Service
	Notes     *notes.Service
	Requests  *requests.Service
}

// NewPrivacy returns the services with the configured settings. They decrypt contact records with keys. If j is nil,
// they reject erasures. If texts is nil, they use the built-in letters.
func NewPrivacy(
	cfg *config.Config, db *postgres.DB, keys *envelope.Wrappers, platform *keyring.Keys, j journal.Store,
	texts *letters.Letters, c clock.Clock,
) Privacy {
	p, r := cfg.Privacy, cfg.Retention
	erasures := erasure.NewService(db, keys, platform, j, c, erasure.Settings{
		RequireApproval: p.RequireApproval, JournalFingerprint: p.ErasureJournalFingerprint,
	})
	reveals := reveal.NewService(db, keys, platform, erasures, c, reveal.Limits{
		RevealsPerDay: p.RevealsPerDay, LookupsPerDay: p.LookupsPerDay,
	})
	return Privacy{
		Erasures: erasures,
		Reveals:  reveals,
		Retention: retention.NewService(db, erasures, c, retention.Periods{
			Contact: retention.Days{Default: r.ContactDays, ByCountry: r.ContactDaysByCountry},
			Consent: retention.Days{Default: r.ConsentDays, ByCountry: r.ConsentDaysByCountry},
		}),
		Consents: consents.NewService(db, erasures, c),
		Notes:    notes.NewService(db, erasures, reveals, c),
		Requests: requests.NewService(db, keys, platform, erasures, reveals, c, requests.Settings{
			RequireApproval: p.RequireApproval, RequestDays: r.RequestsDays, Law: models.PrivacyLaw(p.Law),
			Letters: texts, Controller: p.Controller, Purposes: p.Purposes, Recipients: p.Recipients,
			NamesRecipients: p.NamesRecipients(),
		}),
	}
}

// By returns the services that act on behalf of the given actor.
func (p Privacy) By(actor audit.Actor) Privacy {
	return Privacy{
		Erasures: p.Erasures.By(actor), Reveals: p.Reveals.By(actor), Retention: p.Retention.By(actor),
		Consents: p.Consents.By(actor), Notes: p.Notes.By(actor), Requests: p.Requests.By(actor),
	}
}
