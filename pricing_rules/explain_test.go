package pricingrules

import (
	"testing"

	"pgregory.net/rapid"
)

// checkExplanations checks that the explanation of every cell ends with the price in the table.
func checkExplanations(t rapid.TB, table *Table) {
	t.Helper()
	for i := range table.Taxonomy().Len() {
		for m := range table.Markets().Len() {
			for class := range Class(Classes) {
				e, cell := table.Explain(i, m, class), table.Price(i, m, class)
				if e.Cell != cell || len(e.Steps) == 0 {
					t.Fatalf("got %+v after %d steps, want %+v\n%s", e.Cell, len(e.Steps), cell, e)
				}
				last := e.Steps[len(e.Steps)-1]
				if cell.Excluded && (len(e.Steps) != 1 || last.Name != "exclude" || last.Effect != "true") {
					t.Fatalf("got explanation of an excluded cell\n%s", e)
				}
				if !cell.Excluded && last.Value != decimal(cell.Minor) {
					t.Fatalf("got last value %s, want %v\n%s", last.Value, cell, e)
				}
				for _, s := range e.Steps {
					if s.Rule >= 0 && table.card.Rules[s.Rule].Selector() != s.Selector {
						t.Fatalf("rule %d does not have the selector %s", s.Rule, s.Selector)
					}
				}
			}
		}
	}
}

func TestShippedExplanationsEndInThePrice(t *testing.T) { checkExplanations(t, shippedTable(t)) }

func TestExplanationsEndInThePrice(t *testing.T) {
	tax, markets := small(t)
	rapid.Check(t, func(t *rapid.T) {
		if table, err := Compile(smallCards().Draw(t, "card"), tax, markets); err == nil {
			checkExplanations(t, table)
		}
	})
}
