package ratecard

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

func rowsOf(db *gorm.DB, card uuid.UUID) (rows []models.PricingRule, err error) {
	err = db.Where("rate_card_id = ?", card).Order("position").Find(&rows).Error
	return rows, err
}

func toRows(card uuid.UUID, c pricingrules.Card) ([]models.PricingRule, error) {
	rows := make([]models.PricingRule, 0, len(c.Rules))
	for i, r := range c.Rules {
		row, err := toRow(card, i+1, r)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func toRow(card uuid.UUID, position int, r pricingrules.Rule) (row models.PricingRule, err error) {
	row = models.PricingRule{
		RateCardID: card, Position: position, Industry: optional(r.Industry), Category: optional(r.Category),
		Country: optional(r.Country), Urgency: optional(r.Urgency), Note: r.Note,
	}
	if r.Multiplier != 0 {
		row.Multiplier = &r.Multiplier
	}
	if r.Exclude != pricingrules.ExcludeUnset {
		exclude := r.Exclude == pricingrules.ExcludeTrue
		row.Exclude = &exclude
	}
	for _, a := range []struct {
		from pricingrules.Amounts
		to   **string
	}{{r.Base, &row.Base}, {r.Floor, &row.Floor}, {r.Ceiling, &row.Ceiling}} {
		if *a.to, err = amountsToJSON(a.from); err != nil {
			return row, err
		}
	}
	return row, nil
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
		return fmt.Errorf("reading amounts by currency: %w", err)
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
