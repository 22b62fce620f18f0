package ratecard

import (
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// ToRows and FromRows are the two ways between a card and its rows.
func ToRows(card uuid.UUID, c pricingrules.Card) ([]models.PricingRule, error) {
	return toRows(card, c)
}

func FromRows(rows []models.PricingRule) (pricingrules.Card, error) { return fromRows(rows) }

// DayByDay makes a replay tell of each day.
func (s *Service) DayByDay() { s.stepPages = 1 }

// Constraints are the errors for what the schema rejects.
var Constraints = constraints
