package ratecard

import (
	"iter"
	"strings"

	"github.com/pingpost/pingpost/internal/base/money"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// GridView selects part of a rate card's grid: one market, one urgency ("" for rules without an
// urgency), one category ("" for all), and the industries whose slugs contain Search.
type GridView struct{ Country, Urgency, Category, Search string }

// GridRow is a target with its base price and, for an industry, its price. A category's row comes
// before the rows of its industries.
type GridRow struct {
	pricingrules.BaseRow
	Name     string            // only for a category
	Cell     pricingrules.Cell // only for an industry
	Live     pricingrules.Cell // the industry's price in the card to compare with
	Compared bool
}

// Grid lists the rows of a compiled rate card that are in the view v. The parameter with is a second
// rate card to compare with, or nil. If there is a second rate card, each row of an industry also
// contains the price in that card. If the view's market or urgency does not exist, the list is empty.
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

func (s *Service) gridRow(
	compiled *ExaminedCard, target pricingrules.Target, category string, currency money.Currency,
) GridRow {
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

// Bulk is a change to the base prices of many rows. If Set is not 0, it is the new base price in minor
// units. Otherwise, every base price, including inherited ones, changes by Percent, in hundredths of a
// percent.
type Bulk struct {
	Set     int64
	Percent int64
}

// Changes returns the new base price of each industry in rows. If the change is a percentage,
// prices are rounded half to even, and rows without a base price are skipped.
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

// Classes yields the names of the urgency classes that a rule can have.
func Classes() iter.Seq[string] {
	return func(yield func(string) bool) {
		for class := range pricingrules.Class(pricingrules.Classes) {
			if !yield(class.String()) {
				return
			}
		}
	}
}
