// Package ratecard owns the rate card versions: in the database they are the
// truth, in YAML they are the interchange format, and compiled they are the
// snapshot that prices pings.
package ratecard

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// CompiledVersion is a published version of the rate card. A ping is priced by one only.
type CompiledVersion struct {
	Version  int
	Card     pricingrules.Card // what Table was compiled from
	Table    *pricingrules.Table
	Taxonomy *pricingrules.Taxonomy
	Markets  *pricingrules.Markets
}

// Service keeps the drafts and the versions.
type Service struct {
	db       *postgres.DB
	clock    clock.Clock
	by       audit.Actor
	policy   Policy
	taxonomy *pricingrules.Taxonomy
	markets  *pricingrules.Markets
	shipped  pricingrules.Card
	compiled *cache

	stepPages int // of the log, that a replay sums up at once
}

// Policy is what publishing takes.
type Policy struct {
	// SecondPerson asks that somebody else approves what one person submits.
	SecondPerson bool
}

// NewService reads and checks what the program ships. What it changes is the
// service's own doing, unless By says whose it is.
func NewService(db *postgres.DB, c clock.Clock) (*Service, error) {
	taxonomy, markets, card, err := pricingrules.Shipped()
	if err != nil {
		return nil, fmt.Errorf("the shipped prices: %w", err)
	}
	return &Service{
		db: db.WithConstraints(constraints()), clock: c, by: audit.Service,
		taxonomy: taxonomy, markets: markets, shipped: card, compiled: newCache(), stepPages: stepPages,
	}, nil
}

// By is the same service on behalf of somebody.
func (s *Service) By(who audit.Actor) *Service {
	c := *s
	c.by = who
	return &c
}

// WithPolicy is the same service with a policy.
func (s *Service) WithPolicy(p Policy) *Service {
	c := *s
	c.policy = p
	return &c
}

// SecondPerson reports whether publishing takes two.
func (s *Service) SecondPerson() bool { return s.policy.SecondPerson }

// Taxonomy is the list of industries, Markets that of the countries with prices of their own.
func (s *Service) Taxonomy() *pricingrules.Taxonomy { return s.taxonomy }
func (s *Service) Markets() *pricingrules.Markets   { return s.markets }

// PublishShipped makes the shipped rate card version 1 of an empty database and
// reports whether it did. From then on the database is the truth.
func (s *Service) PublishShipped(ctx context.Context) (bool, error) {
	published := false
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		// Two nodes that start at once take turns; the second finds a version.
		if err := lockVersions(tx); err != nil {
			return err
		}
		var n int64
		if err := tx.Model(&models.RateCard{}).Count(&n).Error; err != nil || n > 0 {
			return err
		}
		now := s.clock.Now()
		card := models.RateCard{
			ID: id.New(now), State: models.RateCardDraft, Author: "pingpost", UpdatedBy: "pingpost",
			Note: "The rate card that the program ships.", CreatedAt: now, UpdatedAt: now,
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
		published = true
		return s.publish(tx, &card, now)
	})
	return published, err
}

// lockVersions makes one at a time of whoever publishes.
func lockVersions(tx *gorm.DB) error {
	return tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('rate card versions'))`).Error
}

// LoadCurrent compiles the version in force: the highest that is published.
func (s *Service) LoadCurrent(ctx context.Context) (*CompiledVersion, error) {
	card, err := currentCard(s.db.Gorm.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("loading the rate card in force: %w", postgres.Translate(err))
	}
	rows, err := rowsOf(s.db.Gorm.WithContext(ctx), card.ID)
	if err != nil {
		return nil, fmt.Errorf("loading the rate card in force: %w", postgres.Translate(err))
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
