package pricingrules

import (
	"testing"

	"github.com/pingpost/pingpost/internal/base/money"
)

func BenchmarkPrice(b *testing.B) {
	table := shippedTable(b)
	if n := testing.AllocsPerRun(100, func() { table.Price(0, 0, Emergency) }); n > 0 {
		b.Fatalf("pricing a cell makes %v allocations, want none", n)
	}
	b.ReportAllocs()
	var sum int64
	for i := 0; b.Loop(); i++ { // large strides, so that the cells do not all fit in the L1 cache
		sum += table.Price(i*97&255, i>>3&7, Class(i&3)).Minor
	}
	if sum == 0 {
		b.Fatal("all prices are 0")
	}
}

func BenchmarkExplain(b *testing.B) {
	table := shippedTable(b)
	b.ReportAllocs()
	for b.Loop() {
		if e := table.Explain(0, 0, Emergency); len(e.Steps) == 0 {
			b.Fatal("no steps")
		}
	}
}

func BenchmarkCompileShipped(b *testing.B) {
	tax, markets, card := shipped(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(card, tax, markets); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile50000(b *testing.B) {
	tax, markets, _ := shipped(b)
	card := manyRules(b, tax, markets, 50_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(card, tax, markets); err != nil {
			b.Fatal(err)
		}
	}
}

// manyRules returns a rate card with n rules. The first rule for each selector sets a base price and a
// multiplier, and the remaining rules set a floor.
func manyRules(t testing.TB, tax *Taxonomy, markets *Markets, n int) Card {
	t.Helper()
	var selectors []Rule
	scopes := []Rule{{}}
	for _, c := range tax.Categories() {
		scopes = append(scopes, Rule{Category: c.Slug})
	}
	for _, i := range tax.Industries() {
		scopes = append(scopes, Rule{Industry: i.Slug})
	}
	for _, r := range scopes {
		for m := -1; m < markets.Len(); m++ {
			r.Country = ""
			if m >= 0 {
				r.Country = markets.At(m).Code
			}
			for _, urgency := range append([]string{""}, classNames[:]...) {
				r.Urgency = urgency
				selectors = append(selectors, r)
			}
		}
	}
	var card Card
	for i := range n {
		r := selectors[i%len(selectors)]
		if i < len(selectors) {
			r.Base, r.Multiplier = Amounts{0, 1000, 1100, 1200, 1300, 1400}, MultiplierOne+int64(i%5000)
		} else {
			r.Floor = Amounts{money.GBP: 500, money.EUR: 600}
		}
		card.Rules = append(card.Rules, r)
	}
	return card
}
