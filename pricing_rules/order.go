package pricingrules

// Inversion is a cell whose urgency does not do to its price what the word promises
// (decision 8): a raising one that gives no more than standard, or flexible that gives no less.
type Inversion struct {
	Industry        Industry
	Market          Market
	Class           Class
	Price, Standard Cell
}

// Inversions lists them in the order of the taxonomy, the markets and the classes. A
// card may have them: whoever publishes it is told. Cells without a price are passed over.
func (t *Table) Inversions() (found []Inversion) {
	for i, industry := range t.index.tax.industries {
		for m, market := range t.index.markets.list {
			standard := t.Price(i, m, Standard)
			if standard.Minor == 0 {
				continue
			}
			for class := range Class(Classes) {
				price := t.Price(i, m, class)
				raises := class != Standard && class != Flexible
				wrong := raises && price.Minor <= standard.Minor || class == Flexible && price.Minor >= standard.Minor
				if wrong && price.Minor != 0 {
					found = append(found, Inversion{industry, market, class, price, standard})
				}
			}
		}
	}
	return found
}
