package pricingrules

// Change is a cell that differs between two tables. A cell that only one of them
// has is the zero Cell in the other, of no valid currency.
type Change struct {
	Industry Industry
	Market   Market
	Class    Class
	Old, New Cell
}

// String is for people: "plumber/GB/standard: 45.60 GBP → 48.00 GBP".
func (c Change) String() string {
	return cellName(c.Industry, c.Market, c.Class) + ": " + c.Old.orNone() + " → " + c.New.orNone()
}

func (c Cell) orNone() string {
	if c == (Cell{}) {
		return "none"
	}
	return c.String()
}

// Diff lists the cells that differ, in the order of new's taxonomy, markets and
// classes; then those that only old has, in its own. Industries are matched by
// slug and markets by code.
func Diff(old, new *Table) []Change {
	changes := compare(new, old, func(mine, theirs Cell) (Cell, Cell, bool) { return theirs, mine, mine != theirs })
	gone := compare(old, new, func(mine, theirs Cell) (Cell, Cell, bool) { return mine, theirs, theirs == Cell{} })
	return append(changes, gone...)
}

// compare asks pick about every cell of table and the same one of other, the zero
// Cell where other has none: what it was, what it is, and whether to report it.
func compare(table, other *Table, pick func(mine, theirs Cell) (was, is Cell, report bool)) []Change {
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
				if was, is, report := pick(table.Price(i, m, class), theirs); report {
					changes = append(changes, Change{
						Industry: industry,
						Market:   market,
						Class:    class,
						Old:      was,
						New:      is,
					})
				}
			}
		}
	}
	return changes
}
