package ratecard

import (
	"iter"
	"strings"

	"github.com/pingpost/pingpost/internal/money"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// GridView is what of a card's grid is looked at: one market at one urgency, "" for rules
// of every urgency; a category or all; and industries by a part of their slug.
type GridView struct{ Country, Urgency, Category, Search string }

// GridRow is a target of the view with its base; of an industry also what a lead costs.
// A category's row comes before those of its industries.
type GridRow struct {
	pricingrules.BaseRow
	Name     string            // of a category
	Cell     pricingrules.Cell // of an industry
	Live     pricingrules.Cell // of the version that the card is compared with
	Compared bool
}

// Grid lists the rows of a view. with is the card that it is compared with, nil
// for none. A view of a country that has no market is empty.
func (s *Service) Grid(compiled, with *ExaminedCard, v GridView) (rows []GridRow) {
	market, ok := s.markets.ByCode(v.Country)
	if !ok {
		return nil
	}
	class := pricingrules.Standard
	if v.Urgency != "" {
		if class, ok = pricingrules.ParseClass(v.Urgency); !ok {
			return nil
		}
	}
	search := strings.ToLower(strings.TrimSpace(v.Search))
	currency := s.markets.At(market).Currency
	for _, category := range s.taxonomy.Categories() {
		if v.Category != "" && v.Category != category.Slug {
			continue
		}
		ofCategory := pricingrules.Target{Category: category.Slug, Country: v.Country, Urgency: v.Urgency}
		part := []GridRow{s.gridRow(compiled, ofCategory, category.Slug, currency)}
		part[0].Name = category.Name
		for i, industry := range s.taxonomy.Industries() {
			if industry.Category != category.Slug || !strings.Contains(industry.Slug, search) {
				continue
			}
			target := pricingrules.Target{Industry: industry.Slug, Country: v.Country, Urgency: v.Urgency}
			row := s.gridRow(compiled, target, category.Slug, currency)
			row.Cell = compiled.Table.Price(i, market, class)
			row.Price = row.Cell.String()
			if with != nil {
				row.Live, row.Compared = with.Table.Price(i, market, class), true
			}
			part = append(part, row)
		}
		if len(part) > 1 {
			rows = append(rows, part...)
		}
	}
	return rows
}

func (s *Service) gridRow(compiled *ExaminedCard, target pricingrules.Target, category string, currency money.Currency) GridRow {
	row := GridRow{BaseRow: pricingrules.BaseRow{
		Category: category,
		Target:   target,
		Currency: currency,
		Base:     compiled.Table.BaseOf(target),
	}}
	if row.Base.Rule >= 0 && !row.Base.Direct {
		row.Source = compiled.Card.Rules[row.Base.Rule].Selector()
	}
	return row
}

// Bulk is a change of the bases of many rows: set to an amount, or moved by a
// percentage in ten-thousandths of the base that each has now, its own or inherited.
type Bulk struct {
	Set     int64
	Percent int64
}

// Changes are the bases that the bulk gives the industries of the rows, each rounded
// half-even. Rows without a base are passed over.
func (b Bulk) Changes(rows []GridRow) (changes []BaseChange) {
	for _, row := range rows {
		if row.Target.Industry == "" {
			continue
		}
		minor := b.Set
		if minor == 0 {
			if row.Base.Rule < 0 {
				continue
			}
			minor = max(pricingrules.Adjust(row.Base.Minor, int(b.Percent)), 1)
		}
		changes = append(changes, BaseChange{row.Target, minor})
	}
	return changes
}

// Classes are the names of the urgencies that a rule can name.
func Classes() iter.Seq[string] {
	return func(yield func(string) bool) {
		for class := range pricingrules.Class(pricingrules.Classes) {
			if !yield(class.String()) {
				return
			}
		}
	}
}
