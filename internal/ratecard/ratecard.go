// Package ratecard stores, edits and publishes rate cards. Drafts and versions are stored in the
// database, and can be exported and imported as YAML. Pings are priced with a compiled version.
package ratecard

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// CompiledVersion is a compiled version of the rate card. Each ping is priced with one version.
type CompiledVersion struct {
	Version  int
	Card     pricingrules.Card // the rules that Table was compiled from
	Table    *pricingrules.Table
	Taxonomy *pricingrules.Taxonomy
	Markets  *pricingrules.Markets
}

// Service manages drafts and versions.
type Service struct {
	db       *postgres.DB
	clock    clock.Clock
	queue    *jobs.Queue
	by       audit.Actor
	policy   Policy
	taxonomy *pricingrules.Taxonomy
	markets  *pricingrules.Markets
	shipped  pricingrules.Card
	compiled *cache

	stepPages int // the maximum size of a replay step, in table pages
}

// Policy sets the conditions for publishing.
type Policy struct {
	// RequireApproval requires another user to approve each submitted draft.
	RequireApproval bool
}

// NewService returns a service that uses the embedded taxonomy, markets and rate card, and registers its job handler
// with the queue. Its changes are attributed to audit.Service, unless By sets another actor.
func NewService(db *postgres.DB, queue *jobs.Queue, c clock.Clock) (*Service, error) {
	taxonomy, markets, card, err := pricingrules.Shipped()
	if err != nil {
		return nil, fmt.Errorf("reading shipped prices: %w", err)
	}
	s := &Service{
		db: db.WithConstraints(constraints()), clock: c, queue: queue, by: audit.Service,
		taxonomy: taxonomy, markets: markets, shipped: card, compiled: newCache(), stepPages: stepPages,
	}
	queue.Handle(models.JobReplay, jobs.Handler{Object: id.RateCard, Do: s.runReplay})
	return s, nil
}

// By returns a copy of the service whose changes are attributed to another actor.
func (s *Service) By(actor audit.Actor) *Service {
	c := *s
	c.by = actor
	return &c
}

// WithPolicy returns a copy of the service that applies a policy.
func (s *Service) WithPolicy(p Policy) *Service {
	c := *s
	c.policy = p
	return &c
}

// RequireApproval reports whether another user must approve a draft before it is published.
func (s *Service) RequireApproval() bool { return s.policy.RequireApproval }

// Taxonomy returns the taxonomy, which contains all industries.
func (s *Service) Taxonomy() *pricingrules.Taxonomy { return s.taxonomy }

// Markets returns the markets.
func (s *Service) Markets() *pricingrules.Markets { return s.markets }

// PublishShipped checks whether the database contains a rate card. If there is none, PublishShipped
// publishes the embedded rate card as version 1. It reports whether it published the card.
func (s *Service) PublishShipped(ctx context.Context) (bool, error) {
	published := false
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		// If two nodes start at the same time, the second one waits here and then finds that a
		// version exists.
		if err := lockVersions(tx); err != nil {
			return err
		}
		var n int64
		err := tx.Model(&models.RateCard{}).Count(&n).Error
		if published = err == nil && n == 0; !published {
			return err
		}
		now := s.clock.Now()
		card := models.RateCard{
			ID: id.New(now), State: models.RateCardDraft, Author: "pingpost", UpdatedBy: "pingpost",
			Note: "The initial rate card, shipped with pingpost.", CreatedAt: now, UpdatedAt: now,
		}
		if err := tx.Create(&card).Error; err != nil {
			return err
		}
		rows, err := toRows(card.ID, s.shipped)
		if err != nil {
			return err
		}
		if err := tx.CreateInBatches(rows, 500).Error; err != nil {
			return err
		}
		return s.publish(tx, &card, now)
	})
	return published, err
}

// lockVersions takes a lock that is held until the transaction ends, so that only one rate card is
// published at a time.
func lockVersions(tx *gorm.DB) error {
	return tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('rate card versions'))`).Error
}

// LoadCurrent loads and compiles the current version.
func (s *Service) LoadCurrent(ctx context.Context) (*CompiledVersion, error) {
	card, err := currentCard(s.db.Gorm.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("loading current rate card: %w", postgres.Translate(err))
	}
	rows, err := rowsOf(s.db.Gorm.WithContext(ctx), card.ID)
	if err != nil {
		return nil, fmt.Errorf("loading current rate card: %w", postgres.Translate(err))
	}
	rules, err := fromRows(rows)
	if err != nil {
		return nil, fmt.Errorf("rate card v%d: %w", card.Version, err)
	}
	return s.CompileVersion(card.Version, rules)
}

// CompileVersion compiles the rules of a version.
func (s *Service) CompileVersion(version int, card pricingrules.Card) (*CompiledVersion, error) {
	table, err := pricingrules.Compile(card, s.taxonomy, s.markets)
	if err != nil {
		return nil, fmt.Errorf("rate card v%d: %w", version, err)
	}
	return &CompiledVersion{Version: version, Card: card, Table: table, Taxonomy: s.taxonomy, Markets: s.markets}, nil
}

func currentCard(db *gorm.DB) (card models.RateCard, err error) {
	err = db.Where("state = ?", models.RateCardPublished).Order("version DESC").Take(&card).Error
	return card, err
}
