package models

import (
	"time"

	"github.com/google/uuid"
)

// RateCardState is where a rate card is in its life.
type RateCardState string

const (
	RateCardDraft      RateCardState = "draft"
	RateCardSubmitted  RateCardState = "submitted" // waits for a second person
	RateCardScheduled  RateCardState = "scheduled" // waits for its time
	RateCardPublished  RateCardState = "published" // in force where its version is the highest
	RateCardSuperseded RateCardState = "superseded"
	RateCardDiscarded  RateCardState = "discarded"
)

// RateCard is the prices: a draft, or a version. Once published it does not change.
type RateCard struct {
	ID          uuid.UUID `gorm:"primaryKey"`
	Version     int       `gorm:"default:null"` // 0 until it is published
	State       RateCardState
	Title       string
	BasedOn     int `gorm:"default:null"` // the version that a draft was begun from; 0 for none
	Author      string
	Submitter   string
	Approver    string
	Note        string
	EffectiveAt *time.Time // from when; of a submitted card, when it is to be
	CreatedAt   time.Time  `gorm:"autoCreateTime:false"`
	UpdatedAt   time.Time  `gorm:"autoUpdateTime:false"`
	UpdatedBy   string
	RowVersion  int `gorm:"default:1"`
}

// RateCardEdit is something that was done to a draft. Patch is how to undo it.
type RateCardEdit struct {
	ID         int64 `gorm:"primaryKey;autoIncrement"`
	RateCardID uuid.UUID
	At         time.Time
	Editor     string
	What       string
	Rules      int
	Patch      string `gorm:"type:jsonb"`
	UndoneAt   *time.Time
	UndoneBy   string
}

// ReplayState is where a replay is.
type ReplayState string

const (
	ReplayWaiting ReplayState = "waiting"
	ReplayRunning ReplayState = "running"
	ReplayDone    ReplayState = "done"
	ReplayFailed  ReplayState = "failed"
)

// RateCardReplay is a card put to the pings and posts of some days.
type RateCardReplay struct {
	ID          uuid.UUID `gorm:"primaryKey"`
	RateCardID  uuid.UUID
	RowVersion  int // the card's
	Requester   string
	RequestedAt time.Time
	FirstDay    time.Time `gorm:"type:date"`
	Days        int
	DaysDone    int
	State       ReplayState `gorm:"default:waiting"`
	SeenAt      *time.Time
	EndedAt     *time.Time
	Result      *string `gorm:"type:jsonb"`
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

// PartnerPrice is what a partner has of its own: decisions 4, 5.
type PartnerPrice struct {
	PartnerID    uuid.UUID `gorm:"primaryKey"`
	Adjustment   int       // ten-thousandths added to the price
	Exclusions   string    `gorm:"type:jsonb;default:'[]'"`
	DailyLeadCap *int
	AgreedAt     time.Time // when the first of the present terms began
	RowVersion   int       `gorm:"default:1"`
	UpdatedAt    time.Time `gorm:"autoUpdateTime:false"`
}

// PartnerPriceProposal is a change of a partner's own prices that waits for a second
// person to approve it.
type PartnerPriceProposal struct {
	PartnerID    uuid.UUID `gorm:"primaryKey"`
	ID           uuid.UUID
	Adjustment   int    // ten-thousandths added to the price
	Exclusions   string `gorm:"type:jsonb"`
	DailyLeadCap *int
	BasedOn      int // the PartnerPrice's row version; 0 where there was none
	Proposer     string
	ProposerID   uuid.UUID
	ProposedAt   time.Time
}
