package app

import (
	"github.com/pingpost/pingpost/internal/app/privacy"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/letters"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/internal/retention"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
)

// NewPrivacy returns the services with the configured settings. They decrypt contact records with keys. If j is nil,
// they reject erasures. If texts is nil, they use the built-in letters.
func NewPrivacy(
	cfg *config.Config, db *postgres.DB, queue *jobs.Queue, keys *envelope.Wrappers, platform *keyring.Keys,
	j journal.Store, texts *letters.Letters, c clock.Clock,
) privacy.Services {
	p, r := cfg.Privacy, cfg.Retention
	return privacy.NewServices(db, queue, keys, platform, j, c, privacy.Settings{
		Erasures: erasure.Settings{
			RequireApproval: p.RequireApproval, JournalFingerprint: p.ErasureJournalFingerprint,
		},
		Reveals: reveal.Limits{RevealsPerDay: p.RevealsPerDay, LookupsPerDay: p.LookupsPerDay},
		Retention: retention.Periods{
			Contact: retention.Days{Default: r.ContactDays, ByCountry: r.ContactDaysByCountry},
			Consent: retention.Days{Default: r.ConsentDays, ByCountry: r.ConsentDaysByCountry},
		},
		Requests: requests.Settings{
			RequireApproval: p.RequireApproval, RequestDays: r.RequestsDays, Law: models.PrivacyLaw(p.Law),
			Letters: texts, Controller: p.Controller, Purposes: p.Purposes, Recipients: p.Recipients,
			NamesRecipients: p.NamesRecipients(),
		},
	})
}
