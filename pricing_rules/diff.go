package pricingrules

// Change is a difference between a cell in two tables. If one of the tables does not contain the cell,
// its Cell has the zero value.
type Change struct {
	Industry Industry
	Market   Market
	Class    Class
	Old, New Cell
}

// String formats the change, such as "plumber/GB/standard: 45.60 GBP → 48.00 GBP".
func (c Change) String() string {
	return cellName(c.Industry, c.Market, c.Class) + ": " + c.Old.orNone() + " → " + c.New.orNone()
}

func (c Cell) orNone() string {
	if c == (Cell{}) {
		return "none"
	}
	return c.String()
}

// Diff lists the cells that differ between two tables. Industries are matched by slug, and markets are
// matched by code. The cells of the new table come first, in the order of its taxonomy, markets and
// classes. The cells that only the old table contains follow, in the order of the old table.
func Diff(old, new *Table) []Change {
	changes := compare(new, old, func(mine, theirs Cell) (Cell, Cell, bool) { return theirs, mine, mine != theirs })
	gone := compare(old, new, func(mine, theirs Cell) (Cell, Cell, bool) { return mine, theirs, theirs == Cell{} })
	return append(changes, gone...)
}

// compare calls the function pick for every cell of the first table. The argument mine is this cell.
// The argument theirs is the corresponding cell of the other table, or the zero Cell if there is none.
// The function pick returns the old cell, the new cell, and whether to report the change.
func compare(table, other *Table, pick func(mine, theirs Cell) (old, is Cell, report bool)) []Change {
	var changes []Change
	for i, industry := range table.index.tax.industries {
		otherIndustry, hasIndustry := other.index.tax.BySlug(industry.Slug)
		for m, market := range table.index.markets.list {
			otherMarket, hasMarket := other.index.markets.ByCode(market.Code)
			for class := range Class(Classes) {
				var theirs Cell
				if hasIndustry && hasMarket {
					theirs = other.Price(otherIndustry, otherMarket, class)
				}
				if old, is, report := pick(table.Price(i, m, class), theirs); report {
					changes = append(changes, Change{
						Industry: industry,
						Market:   market,
						Class:    class,
						Old:      old,
						New:      is,
					})
				}
			}
		}
	}
	return changes
}
