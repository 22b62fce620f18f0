package ratecard_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func service(t *testing.T, d *testkit.Database) *ratecard.Service {
	t.Helper()
	s, err := ratecard.NewService(d.DB, clock.NewManual(testkit.Began()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func shippedCard(t *testing.T) pricingrules.Card {
	t.Helper()
	_, _, card, err := pricingrules.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return card
}

// put stores a version with its rules, as the console does: a draft first.
func put(t *testing.T, d *testkit.Database, version int, state models.RateCardState, card pricingrules.Card) uuid.UUID {
	t.Helper()
	now := testkit.Began()
	row := models.RateCard{ID: uuid.New(), Version: version, State: models.RateCardDraft, Author: "someone", CreatedAt: now}
	rules, err := ratecard.ToRows(row.ID, card)
	if err != nil {
		t.Fatal(err)
	}
	for _, insert := range []error{d.Gorm.Create(&row).Error, d.Gorm.CreateInBatches(rules, 500).Error} {
		if insert != nil {
			t.Fatal(insert)
		}
	}
	if state != models.RateCardDraft {
		if err := d.Gorm.Model(&row).Updates(map[string]any{"state": state, "effective_at": now}).Error; err != nil {
			t.Fatal(err)
		}
	}
	return row.ID
}

// everywhere is a card that gives every cell one price, in each currency.
func everywhere(minor int64) pricingrules.Card {
	var base pricingrules.Amounts
	for currency := range base {
		if currency > 0 {
			base[currency] = minor
		}
	}
	return pricingrules.Card{Rules: []pricingrules.Rule{{Base: base}}}
}
