// Package ratecard owns the rate card versions: in the database they are the
// truth, in YAML they are the interchange format, and compiled they are the
// snapshot that prices pings.
package ratecard

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/store"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// Snapshot is one rate card version, compiled. A ping is priced wholly by one.
type Snapshot struct {
	Version  int
	Table    *pricingrules.Table
	Taxonomy *pricingrules.Taxonomy
	Markets  *pricingrules.Markets
}

// Service keeps the versions.
type Service struct {
	db       *store.DB
	clock    clock.Clock
	taxonomy *pricingrules.Taxonomy
	markets  *pricingrules.Markets
	shipped  pricingrules.Card
}

// NewService reads and checks what the program ships.
func NewService(db *store.DB, c clock.Clock) (*Service, error) {
	taxonomy, markets, card, err := pricingrules.Shipped()
	if err != nil {
		return nil, fmt.Errorf("the shipped prices: %w", err)
	}
	return &Service{db: db, clock: c, taxonomy: taxonomy, markets: markets, shipped: card}, nil
}

// Taxonomy is the list of industries.
func (s *Service) Taxonomy() *pricingrules.Taxonomy { return s.taxonomy }

// PublishShipped makes the shipped rate card version 1 of an empty database and
// reports whether it did. From then on the database is the truth.
func (s *Service) PublishShipped(ctx context.Context) (bool, error) {
	published := false
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		// Two nodes that start at once take turns; the second finds a version.
		if err := tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('rate card versions'))`).Error; err != nil {
			return err
		}
		var n int64
		if err := tx.Model(&models.RateCard{}).Count(&n).Error; err != nil || n > 0 {
			return err
		}
		now := s.clock.Now()
		card := models.RateCard{
			ID: id.New(now), Version: 1, State: models.RateCardDraft, Author: "pingpost",
			Note: "The rate card that the program ships.", CreatedAt: now,
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
		if err := tx.Model(&card).Updates(map[string]any{"state": models.RateCardPublished, "effective_at": now}).Error; err != nil {
			return err
		}
		return audit.Write(tx, now, audit.Service, audit.Event{
			Action: "pricing.publish", Kind: "rate_card", Object: id.Format(id.RateCard, card.ID), After: map[string]any{"version": card.Version, "note": card.Note},
		})
	})
	return published, err
}

// LoadCurrent compiles the version in force: the highest that is published.
func (s *Service) LoadCurrent(ctx context.Context) (*Snapshot, error) {
	var card models.RateCard
	var rows []models.PricingRule
	db := s.db.Gorm.WithContext(ctx)
	err := db.Where("state = ?", models.RateCardPublished).Order("version DESC").Take(&card).Error
	if err == nil {
		err = db.Where("rate_card_id = ?", card.ID).Order("position").Find(&rows).Error
	}
	if err != nil {
		return nil, fmt.Errorf("loading the rate card in force: %w", store.Translate(err))
	}
	rules, err := fromRows(rows)
	if err != nil {
		return nil, fmt.Errorf("rate card v%d: %w", card.Version, err)
	}
	table, err := pricingrules.Compile(rules, s.taxonomy, s.markets)
	if err != nil {
		return nil, fmt.Errorf("rate card v%d: %w", card.Version, err)
	}
	return &Snapshot{Version: card.Version, Table: table, Taxonomy: s.taxonomy, Markets: s.markets}, nil
}

func toRows(card uuid.UUID, c pricingrules.Card) ([]models.PricingRule, error) {
	rows := make([]models.PricingRule, 0, len(c.Rules))
	for i, r := range c.Rules {
		row := models.PricingRule{
			RateCardID: card, Position: i + 1, Industry: optional(r.Industry), Category: optional(r.Category),
			Country: optional(r.Country), Urgency: optional(r.Urgency), Note: r.Note,
		}
		if r.Multiplier != 0 {
			row.Multiplier = &r.Multiplier
		}
		if r.Exclude != pricingrules.ExcludeUnset {
			exclude := r.Exclude == pricingrules.ExcludeTrue
			row.Exclude = &exclude
		}
		var err error
		for _, a := range []struct {
			from pricingrules.Amounts
			to   **string
		}{{r.Base, &row.Base}, {r.Floor, &row.Floor}, {r.Ceiling, &row.Ceiling}} {
			if *a.to, err = amountsToJSON(a.from); err != nil {
				return nil, err
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func fromRows(rows []models.PricingRule) (pricingrules.Card, error) {
	var card pricingrules.Card
	for _, row := range rows {
		r := pricingrules.Rule{
			Industry: value(row.Industry), Category: value(row.Category), Country: value(row.Country),
			Urgency: value(row.Urgency), Note: row.Note,
		}
		if row.Multiplier != nil {
			r.Multiplier = *row.Multiplier
		}
		if row.Exclude != nil {
			r.Exclude = pricingrules.ExcludeFalse
			if *row.Exclude {
				r.Exclude = pricingrules.ExcludeTrue
			}
		}
		for _, a := range []struct {
			from *string
			to   *pricingrules.Amounts
		}{{row.Base, &r.Base}, {row.Floor, &r.Floor}, {row.Ceiling, &r.Ceiling}} {
			if err := amountsFromJSON(a.from, a.to); err != nil {
				return card, fmt.Errorf("rule %d: %w", row.Position, err)
			}
		}
		card.Rules = append(card.Rules, r)
	}
	return card, nil
}

func amountsToJSON(a pricingrules.Amounts) (*string, error) {
	set := map[string]int64{}
	for _, c := range money.Currencies {
		if a[c] != 0 {
			set[c.String()] = a[c]
		}
	}
	if len(set) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(set)
	out := string(text)
	return &out, err
}

func amountsFromJSON(text *string, into *pricingrules.Amounts) error {
	if text == nil {
		return nil
	}
	var set map[string]int64
	if err := json.Unmarshal([]byte(*text), &set); err != nil {
		return fmt.Errorf("an amount is not an object of minor units by currency: %w", err)
	}
	for code, minor := range set {
		c, err := money.ParseCurrency(code)
		if err != nil {
			return err
		}
		into[c] = minor
	}
	return nil
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
