// Package evidence creates evidence packs: signed files with the facts about a lead, for a dispute, a
// court or an authority.
package evidence

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/evidence/pack"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
)

// Deps are the services that supply the contents of packs. All fields are required.
type Deps struct {
	DB       *postgres.DB
	Clock    clock.Clock
	Keys     *Keys
	Audit    *audit.Log
	Leads    *leads.Reader
	Payouts  *payouts.Service
	Erasures *erasure.Service
	Reveals  *reveal.Service
	URL      string // of the platform's partner API
}

// Service creates packs on behalf of a user.
type Service struct {
	Deps
	by audit.Actor
}

// NewService returns a service.
func NewService(d Deps) *Service { return &Service{d, audit.Service} }

// By returns a Service that acts on behalf of the given actor.
func (s *Service) By(actor audit.Actor) *Service { return &Service{s.Deps, actor} }

// Request selects the lead of a pack, and determines what the pack contains.
type Request struct {
	Lead    uuid.UUID
	Return  uuid.UUID // the disputed return, or uuid.Nil
	Amounts bool      // whether the user may see prices and payouts
	Contact bool      // include the fields that the user has revealed recently
	Events  audit.Reader
}

var (
	errNoReturn = apperr.New(apperr.NotFound, "return", "Not Found")
	errErasing  = apperr.New(apperr.Unavailable, "erasing", "This lead is being erased. Try again in a minute.")
	// ErrNotRevealed means that the user has not revealed any field recently.
	ErrNotRevealed = apperr.New(apperr.Conflict, "not_revealed",
		"The pack can include only contact fields that you have revealed in the last 24 hours. Reveal the fields first.")
)

// Create returns a pack. It records the pack in the audit log, with the hash of its manifest.
//
// Errors: NotFound if there is no such lead or return in the scope, ErrNotRevealed, Unavailable if the
// lead is being erased or the signing key cannot be decrypted, those of erasure.Service.CheckJournal and, with
// contact data, those of reveal.Service.RevealAgain.
func (s *Service) Create(ctx context.Context, sc scope.Scope, r Request) ([]byte, error) {
	// Without the journal, the details of the consent may have been erased.
	if err := s.Erasures.CheckJournal(ctx); err != nil {
		return nil, err
	}
	lead, err := s.Leads.Get(ctx, sc, r.Lead)
	if err != nil {
		return nil, err
	}
	kid, key, err := s.Keys.signingKey(ctx)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	d, err := s.document(ctx, sc, r, lead)
	if err != nil {
		return nil, err
	}
	content, manifest, err := pack.Build(d, key)
	if err != nil {
		return nil, err
	}
	after := map[string]any{"manifest": manifest, "key": kid}
	if r.Return != uuid.Nil {
		after["return"] = d.DisputedReturn
	}
	if len(d.Contact) > 0 {
		after["contact"] = fieldNames(d.Contact)
	}
	return content, s.record(ctx, d.Erasure, lead.Lead, d.CreatedAt, after)
}

// record adds the audit event, unless the lead was erased after the given erasure, which can be nil.
func (s *Service) record(
	ctx context.Context, known *pack.Erasure, lead models.Lead, at time.Time, after map[string]any,
) error {
	return s.DB.Transaction(ctx, func(tx *gorm.DB) error {
		var row models.Lead
		// An erasure waits until the pack is recorded.
		if err := tx.Clauses(clause.Locking{Strength: "SHARE"}).Select("id").Where("id = ?", lead.ID).Take(&row).Error; err != nil {
			return err
		}
		var last int64
		if err := tx.Model(&models.Erasure{}).Select("coalesce(max(sequence), 0)").Where("lead_id = ?", lead.ID).Scan(&last).Error; err != nil {
			return err
		}
		if last > 0 && (known == nil || last != known.Entry) {
			return errErasing
		}
		return audit.Write(tx, at, s.by, audit.Event{
			Action: reveal.EvidenceEvent, Kind: "lead", Object: id.Format(id.Lead, lead.ID), Partner: lead.PartnerID, After: after,
		})
	})
}

func fieldNames(fields []pack.Field) (names []string) {
	for _, f := range fields {
		names = append(names, f.Field)
	}
	return names
}
