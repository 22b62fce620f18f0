package pricingrules

import (
	"testing"

	"github.com/pingpost/pingpost/internal/base/money"
)

func shipped(t testing.TB) (*Taxonomy, *Markets, Card) {
	t.Helper()
	tax, markets, card, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return tax, markets, card
}

func shippedTable(t testing.TB) *Table {
	t.Helper()
	tax, markets, card := shipped(t)
	table, err := Compile(card, tax, markets)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// According to decisions 4 and 8, every industry has a price in every country, urgent leads cost more
// than standard leads, and flexible leads cost less.
func TestShippedCardPricesEveryCellInOrder(t *testing.T) {
	table := shippedTable(t)
	ladder := []Class{Flexible, Standard, Urgent, Immediate, Emergency}
	cells := 0
	for i := range table.Taxonomy().Len() {
		for m := range table.Markets().Len() {
			below := int64(0)
			for _, class := range ladder {
				cell := table.Price(i, m, class)
				name := cellName(table.Taxonomy().At(i), table.Markets().At(m), class)
				if cell.Excluded || cell.Minor <= below {
					t.Errorf("%s: got %v, want more than %s, the price of the previous class", name, cell, decimal(below))
				}
				if cell.Currency != table.Markets().At(m).Currency {
					t.Errorf("%s: got %v, want the market's currency", name, cell)
				}
				below = cell.Minor
				cells++
			}
		}
	}
	if want := 336 * 14 * Classes; cells != want {
		t.Errorf("got %d cells, want %d", cells, want)
	}
}

// Standard prices must be realistic for consumer leads.
func TestShippedPricesArePlausible(t *testing.T) {
	table := shippedTable(t)
	for i := range table.Taxonomy().Len() {
		for m := range table.Markets().Len() {
			cell := table.Price(i, m, Standard)
			if cell.Minor < 5_00 || cell.Minor > 200_00 {
				t.Errorf("%s: got %v, want a price between 5 and 200",
					cellName(table.Taxonomy().At(i), table.Markets().At(m), Standard), cell)
			}
		}
	}
}

// The price in the specification's example is 45.6.
func TestShippedPlumberPriceMatchesTheSpecification(t *testing.T) {
	table := shippedTable(t)
	plumber, _ := table.Taxonomy().BySlug("plumber")
	gb := table.Markets().Index([2]byte{'G', 'B'})
	if got := table.Price(plumber, gb, Standard); got != (Cell{Minor: 4560, Currency: money.GBP}) {
		t.Errorf("got plumber/GB/standard %v, want 45.60 GBP", got)
	}
}
