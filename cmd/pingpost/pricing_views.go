package main

import (
	"time"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// priceView is the price of a cell. If the cell is excluded or has no price, price is null.
type priceView struct {
	Price    *string `json:"price"` // in major units, such as 45.60
	Currency string  `json:"currency"`
	Excluded bool    `json:"excluded"`
}

// viewPrice returns nil if a version does not contain the cell.
func viewPrice(c pricingrules.Cell) *priceView {
	if c == (pricingrules.Cell{}) {
		return nil
	}
	v := &priceView{Currency: c.Currency.String(), Excluded: c.Excluded}
	if !c.Excluded && !c.Gap() {
		price := money.Amount{Minor: c.Minor, Currency: c.Currency}.Decimal()
		v.Price = &price
	}
	return v
}

type changeView struct {
	Industry string     `json:"industry"`
	Country  string     `json:"country"`
	Urgency  string     `json:"urgency"`
	Old      *priceView `json:"old"` // null if the old version does not contain this price
	New      *priceView `json:"new"`
}

func viewChanges(changes []pricingrules.Change) []changeView {
	views := make([]changeView, len(changes))
	for i, c := range changes {
		views[i] = changeView{c.Industry.Slug, c.Market.Code, c.Class.String(), viewPrice(c.Old), viewPrice(c.New)}
	}
	return views
}

// cardView is a draft or a version of the rate card.
type cardView struct {
	ID          string               `json:"id"`
	Title       string               `json:"title"`
	State       models.RateCardState `json:"state"`
	Version     int                  `json:"version,omitempty"` // after it was published
	EffectiveAt *time.Time           `json:"effective_at"`      // null for a draft
}

func viewCard(card models.RateCard) cardView {
	return cardView{ratecard.ID(card.ID), card.Title, card.State, card.Version, card.EffectiveAt}
}

type explanationView struct {
	Industry        string     `json:"industry"`
	Country         string     `json:"country"`
	Urgency         string     `json:"urgency"`
	Result          *priceView `json:"result"`
	PartnerExcludes bool       `json:"partner_excludes"` // whether the partner's pricing excludes the lead
	Steps           []stepView `json:"steps"`
}

type stepView struct {
	Name     string `json:"name"`
	Effect   string `json:"effect"` // such as × 1.5
	Value    string `json:"value"`  // the exact price after the step, in major units
	Place    string `json:"place"`  // of the rule, such as line 41
	Selector string `json:"selector"`
	Note     string `json:"note"`
}

func viewExplanation(e ratecard.Explanation) explanationView {
	v := explanationView{
		e.Industry.Slug, e.Country, e.Class.String(), viewPrice(e.Cell), e.PartnerExclusion,
		make([]stepView, len(e.Steps)),
	}
	for i, s := range e.Steps {
		v.Steps[i] = stepView{s.Name, s.Effect, s.Value, s.Place, s.Selector, s.Note}
	}
	return v
}
