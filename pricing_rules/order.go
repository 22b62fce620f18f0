package pricingrules

// Inversion is a cell whose price does not fit its urgency (decision 8). An emergency, immediate or
// urgent lead should cost more than a standard lead, and a flexible lead should cost less.
type Inversion struct {
	Industry        Industry
	Market          Market
	Class           Class
	Price, Standard Cell
}

// Inversions lists the table's inversions in the order of the taxonomy, markets and classes. Staff see
// them as warnings, but can still publish the rate card. Cells without a price are skipped.
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
