package models

import (
	"time"

	"github.com/google/uuid"
)

// RateCardState is where a rate card version is in its life.
type RateCardState string

const (
	RateCardDraft      RateCardState = "draft"
	RateCardPublished  RateCardState = "published"
	RateCardSuperseded RateCardState = "superseded"
)

// RateCard is a version of the prices. Once published it does not change.
type RateCard struct {
	ID          uuid.UUID `gorm:"primaryKey"`
	Version     int
	State       RateCardState
	Author      string
	Approver    string
	Note        string
	EffectiveAt *time.Time
	CreatedAt   time.Time `gorm:"autoCreateTime:false"`
}

// PricingRule is a rule of a rate card; nil selectors mean any. Base, Floor and
// Ceiling are JSON objects of minor units by currency code.
type PricingRule struct {
	ID         int64 `gorm:"primaryKey;autoIncrement"`
	RateCardID uuid.UUID
	Position   int
	Industry   *string
	Category   *string
	Country    *string
	Urgency    *string
	Base       *string `gorm:"type:jsonb"`
	Floor      *string `gorm:"type:jsonb"`
	Ceiling    *string `gorm:"type:jsonb"`
	Multiplier *int64  // ten-thousandths
	Exclude    *bool
	Note       string
}

// PartnerPrice is what a partner has of its own: D4, D5.
type PartnerPrice struct {
	PartnerID    uuid.UUID `gorm:"primaryKey"`
	Adjustment   int       // ten-thousandths added to the price
	Exclusions   string    `gorm:"type:jsonb;default:'[]'"`
	DailyLeadCap *int
	RowVersion   int       `gorm:"default:1"`
	UpdatedAt    time.Time `gorm:"autoUpdateTime:false"`
}
