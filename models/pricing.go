package models

import (
	"cmp"
	"time"

	"github.com/google/uuid"
)

// RateCardState is the state of a rate card.
type RateCardState string

const (
	RateCardDraft      RateCardState = "draft"
	RateCardSubmitted  RateCardState = "submitted" // waiting for approval by a second user
	RateCardScheduled  RateCardState = "scheduled" // approved, with a date in the future
	RateCardPublished  RateCardState = "published" // current if no published card has a higher version
	RateCardSuperseded RateCardState = "superseded"
	RateCardDiscarded  RateCardState = "discarded"
)

// RateCard is a draft or a version of the rate card. A published version never changes.
type RateCard struct {
	ID          uuid.UUID `gorm:"primaryKey"`
	Version     int       `gorm:"default:null"` // 0 until it is published
	State       RateCardState
	Title       string
	BasedOn     int `gorm:"default:null"` // the version that the draft changes; 0 if there was none
	CopiedFrom  int `gorm:"default:null"` // the earlier version whose rules the draft started with; 0 for BasedOn
	Author      string
	Submitter   string
	SubmitterID *uuid.UUID // nil on the command line
	Approver    string
	Note        string
	EffectiveAt *time.Time // when the card takes effect, or would take effect if it were approved
	CreatedAt   time.Time  `gorm:"autoCreateTime:false"`
	UpdatedAt   time.Time  `gorm:"autoUpdateTime:false"`
	UpdatedBy   string
	RowVersion  int `gorm:"default:1"`
}

// Publisher returns the name of the user who published the card or submitted it for approval. Before that, it returns
// the author.
func (c RateCard) Publisher() string { return cmp.Or(c.Submitter, c.Author) }

// RateCardEdit is one edit of a draft. Patch contains the data that is needed to undo the edit.
type RateCardEdit struct {
	ID         int64 `gorm:"primaryKey;autoIncrement"`
	RateCardID uuid.UUID
	At         time.Time
	Editor     string
	Summary    string
	Rules      int
	Patch      string `gorm:"type:jsonb"`
	UndoneAt   *time.Time
	UndoneBy   string
}

// RateCardReplay prices the pings and posts of past days with a rate card, to see the impact of that
// card.
type RateCardReplay struct {
	ID          uuid.UUID `gorm:"primaryKey"`
	RateCardID  uuid.UUID
	RowVersion  int // of the rate card
	Requester   string
	RequestedAt time.Time
	FirstDay    time.Time `gorm:"type:date"`
	Days        int
	Result      *string `gorm:"type:jsonb"` // nil until the replay is done
}

// PricingRule is a rule of a rate card. A nil selector matches everything. Base, Floor and Ceiling
// are JSON objects with an amount in minor units for each currency code.
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
	Multiplier *int64  // in ten-thousandths
	Exclude    *bool
	Note       string
}

// PartnerPrice is a partner's own price adjustment, exclusions and cap (decisions 4, 5).
type PartnerPrice struct {
	PartnerID    uuid.UUID `gorm:"primaryKey"`
	Adjustment   int       // added to the price, in ten-thousandths of the price
	Exclusions   string    `gorm:"type:jsonb;default:'[]'"`
	DailyLeadCap *int
	AgreedAt     time.Time // when the partner last got pricing after having none
	RowVersion   int       `gorm:"default:1"`
	UpdatedAt    time.Time `gorm:"autoUpdateTime:false"`
}

// PartnerPriceProposal is a change to a partner's pricing that is waiting for approval by a second
// user.
type PartnerPriceProposal struct {
	PartnerID    uuid.UUID `gorm:"primaryKey"`
	ID           uuid.UUID
	Adjustment   int    // added to the price, in ten-thousandths of the price
	Exclusions   string `gorm:"type:jsonb"`
	DailyLeadCap *int
	BasedOn      int // row version of the PartnerPrice that it changes; 0 if there was none
	Proposer     string
	ProposerID   uuid.UUID
	ProposedAt   time.Time
}
