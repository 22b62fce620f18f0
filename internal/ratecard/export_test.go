package ratecard

import (
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// ToRows and FromRows convert a rate card to rows and back.
func ToRows(card uuid.UUID, c pricingrules.Card) ([]models.PricingRule, error) {
	return toRows(card, c)
}

func FromRows(rows []models.PricingRule) (pricingrules.Card, error) { return fromRows(rows) }

// DayByDay makes a replay report progress after each day.
func (s *Service) DayByDay() { s.stepPages = 1 }

// Constraints maps the schema's constraints to errors.
var Constraints = constraints
