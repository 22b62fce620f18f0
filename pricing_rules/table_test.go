package pricingrules

import (
	"math/big"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/pingpost/pingpost/internal/base/money"
)

// small returns a taxonomy and markets that have only a few cells, so that rules in random cards often
// overlap.
func small(t testing.TB) (*Taxonomy, *Markets) {
	t.Helper()
	tax, err := ParseTaxonomy("t.yaml", []byte(`categories:
  - {slug: home, name: Home, industries: {1: plumber, 2: roofer}}
  - {slug: law, name: Law, industries: {3: notary}}`))
	if err != nil {
		t.Fatal(err)
	}
	markets, err := ParseMarkets("m.yaml", []byte(`markets:
  - {country: GB, name: Britain, currency: GBP}
  - {country: FR, name: France, currency: EUR}
other: {name: Others, currency: GBP}`))
	if err != nil {
		t.Fatal(err)
	}
	return tax, markets
}

// naive calculates the price of a cell as the package comment describes it. It uses neither an index nor
// fixed-width arithmetic.
type naive struct {
	card     Card
	industry Industry
	market   Market
	class    Class
}

// best returns the most specific rule that sets an effect. tied reports whether two rules are equally
// specific and therefore conflict.
func (n naive) best(has func(Rule) bool) (rule *Rule, tied bool) {
	highest := -1
	for i, r := range n.card.Rules {
		matches := (r.Industry == "" || r.Industry == n.industry.Slug) &&
			(r.Category == "" || r.Category == n.industry.Category) &&
			(r.Country == "" || r.Country == n.market.Code) &&
			(r.Urgency == "" || r.Urgency == n.class.String())
		if !matches || !has(r) {
			continue
		}
		rank := 0
		if r.Industry != "" {
			rank += 200
		}
		if r.Category != "" {
			rank += 100
		}
		if r.Country != "" {
			rank += 10
		}
		if r.Urgency != "" {
			rank++
		}
		if rank == highest {
			tied = true
		}
		if rank > highest {
			highest, rule, tied = rank, &n.card.Rules[i], false
		}
	}
	return rule, tied
}

func (n naive) amount(of func(Rule) Amounts) *big.Rat {
	rule, _ := n.best(func(r Rule) bool { return of(r)[n.market.Currency] != 0 })
	if rule == nil {
		return nil
	}
	return new(big.Rat).SetFrac64(of(*rule)[n.market.Currency], 1)
}

// price returns the price in minor units. ok is false if the cell has no price.
func (n naive) price() (minor int64, excluded, ok bool) {
	value, excluded, ok := n.value()
	if excluded || !ok {
		return 0, excluded, ok
	}
	minor = halfEven(value)
	return minor, false, minor > 0 && minor <= 100_000_000
}

// value returns the price before rounding.
func (n naive) value() (value *big.Rat, excluded, ok bool) {
	if rule, _ := n.best(func(r Rule) bool { return r.Exclude != ExcludeUnset }); rule != nil && rule.Exclude == ExcludeTrue {
		return nil, true, true
	}
	value = n.amount(func(r Rule) Amounts { return r.Base })
	floor, ceiling := n.amount(func(r Rule) Amounts { return r.Floor }), n.amount(func(r Rule) Amounts { return r.Ceiling })
	if value == nil || floor != nil && ceiling != nil && floor.Cmp(ceiling) > 0 {
		return nil, false, false
	}
	for _, kind := range []func(Rule) bool{
		func(r Rule) bool { return r.Urgency != "" },
		func(r Rule) bool { return r.Urgency == "" && r.Country != "" },
		func(r Rule) bool { return r.Urgency == "" && r.Country == "" },
	} {
		if rule, _ := n.best(func(r Rule) bool { return r.Multiplier != 0 && kind(r) }); rule != nil {
			value.Mul(value, big.NewRat(rule.Multiplier, 10000))
		}
	}
	if floor != nil && value.Cmp(floor) < 0 {
		value = floor
	}
	if ceiling != nil && value.Cmp(ceiling) > 0 {
		value = ceiling
	}
	return value, false, true
}

func halfEven(v *big.Rat) int64 {
	doubled := new(big.Int).Mul(v.Num(), big.NewInt(2))
	floor := new(big.Int).Div(v.Num(), v.Denom())
	middle := new(big.Int).Mul(new(big.Int).Add(new(big.Int).Lsh(floor, 1), big.NewInt(1)), v.Denom())
	if c := doubled.Cmp(middle); c > 0 || c == 0 && floor.Bit(0) == 1 {
		floor.Add(floor, big.NewInt(1))
	}
	return floor.Int64()
}

// conflict reports whether two rules with the same selector set the same effect.
func conflict(card Card) bool {
	for i, a := range card.Rules {
		for _, b := range card.Rules[:i] {
			if a.Industry != b.Industry || a.Category != b.Category || a.Country != b.Country || a.Urgency != b.Urgency {
				continue
			}
			both := a.Multiplier != 0 && b.Multiplier != 0 || a.Exclude != ExcludeUnset && b.Exclude != ExcludeUnset
			for c := range a.Base {
				both = both || a.Base[c] != 0 && b.Base[c] != 0 || a.Floor[c] != 0 && b.Floor[c] != 0 ||
					a.Ceiling[c] != 0 && b.Ceiling[c] != 0
			}
			if both {
				return true
			}
		}
	}
	return false
}

// smallCards generates cards for the taxonomy that small returns. Half of the cards start with a rule
// that sets a base price for every cell, so that many cards have no gaps.
func smallCards() *rapid.Generator[Card] {
	amounts := rapid.Custom(func(t *rapid.T) Amounts {
		amount := rapid.OneOf(rapid.Int64Range(1, 20), rapid.Int64Range(1, 9999), rapid.Just[int64](MaxAmount))
		return rapid.SampledFrom([]Amounts{
			{},
			{},
			{money.GBP: amount.Draw(t, "gbp")},
			{money.EUR: amount.Draw(t, "eur"), money.GBP: amount.Draw(t, "gbp")},
		}).Draw(t, "amounts")
	})
	multiplier := rapid.OneOf(rapid.SampledFrom([]int64{0, 0, 5000, 15000, 25000}), rapid.Int64Range(1, MaxMultiplier))
	rule := rapid.Custom(func(t *rapid.T) Rule {
		r := Rule{
			Country:    rapid.SampledFrom([]string{"", "", "GB", "FR", "other"}).Draw(t, "country"),
			Urgency:    rapid.SampledFrom([]string{"", "", "standard", "emergency", "flexible"}).Draw(t, "urgency"),
			Base:       amounts.Draw(t, "base"),
			Floor:      amounts.Draw(t, "floor"),
			Ceiling:    amounts.Draw(t, "ceiling"),
			Multiplier: multiplier.Draw(t, "multiplier"),
			Exclude: rapid.SampledFrom([]Exclusion{ExcludeUnset, ExcludeUnset, ExcludeUnset, ExcludeTrue,
				ExcludeFalse}).Draw(t, "exclude"),
		}
		switch scope := rapid.SampledFrom([]string{"", "home", "law", "plumber", "roofer", "notary"}).Draw(t, "scope"); scope {
		case "home", "law":
			r.Category = scope
		default:
			r.Industry = scope
		}
		if r.Base == (Amounts{}) && r.Floor == (Amounts{}) && r.Ceiling == (Amounts{}) && r.Multiplier == 0 &&
			r.Exclude == ExcludeUnset {
			r.Multiplier = MultiplierOne
		}
		return r
	})
	return rapid.Custom(func(t *rapid.T) Card {
		var card Card
		if rapid.Bool().Draw(t, "complete") {
			card.Rules = append(card.Rules, Rule{Base: Amounts{money.GBP: 1000, money.EUR: 1200}})
		}
		card.Rules = append(card.Rules, rapid.SliceOfN(rule, 0, 8).Draw(t, "rules")...)
		return card
	})
}

// cardsOfEachKind returns a card that compiles, a card with gaps, and a card with conflicts. Random cards
// may all be of the same kind.
func cardsOfEachKind() (complete, gaps, conflicts Card) {
	all := Rule{Base: Amounts{money.GBP: 1000, money.EUR: 1200}}
	return Card{Rules: []Rule{all, {Industry: "plumber", Country: "GB", Base: Amounts{money.GBP: 1500}}}},
		Card{Rules: []Rule{{Industry: "plumber", Country: "GB", Base: Amounts{money.GBP: 1500}}}},
		Card{Rules: []Rule{all, {Industry: "roofer", Multiplier: 5000}, {Industry: "roofer", Multiplier: 15_000}}}
}

func TestCompileMatchesNaivePricing(t *testing.T) {
	tax, markets := small(t)
	check := func(t rapid.TB, card Card) (compiled bool) {
		t.Helper()
		table, err := Compile(card, tax, markets)
		wrong := conflict(card)
		for i := range tax.Len() {
			for m := range markets.Len() {
				for class := range Class(Classes) {
					minor, excluded, ok := naive{card, tax.At(i), markets.At(m), class}.price()
					wrong = wrong || !ok
					if err != nil {
						continue
					}
					want := Cell{Minor: minor, Currency: markets.At(m).Currency, Excluded: excluded}
					if got := table.Price(i, m, class); got != want {
						t.Fatalf("%s: got %+v, want %+v", cellName(tax.At(i), markets.At(m), class), got, want)
					}
				}
			}
		}
		if (err != nil) != wrong {
			t.Fatalf("got error %v, want an error: %t", err, wrong)
		}
		return err == nil
	}
	complete, gaps, conflicts := cardsOfEachKind()
	if !check(t, complete) || check(t, gaps) || check(t, conflicts) {
		t.Error("a card with gaps or conflicts was compiled, or one without was not")
	}
	rapid.Check(t, func(t *rapid.T) { check(t, smallCards().Draw(t, "card")) })
}

// Rules from the database have no line numbers, so problems state the number of the rule.
func TestCompileReportsRulesWithoutLines(t *testing.T) {
	tax, markets := small(t)
	all := Rule{Base: Amounts{money.GBP: 1000, money.EUR: 1200}}
	for name, c := range map[string]struct {
		rule Rule
		want string
	}{
		"negative amount":     {Rule{Floor: Amounts{money.GBP: -1}}, "rule 2"},
		"large amount":        {Rule{Base: Amounts{money.USD: MaxAmount + 1}}, "rule 2"},
		"negative multiplier": {Rule{Multiplier: -1}, "rule 2"},
		"large multiplier":    {Rule{Multiplier: MaxMultiplier + 1}, "rule 2"},
		"exclusion":           {Rule{Exclude: 3}, "rule 2"},
		"note":                {Rule{Multiplier: 1, Note: "\xff"}, "rule 2"},
		"conflict":            {Rule{Base: Amounts{money.EUR: 1}}, "rule 2"},
		"industry":            {Rule{Industry: "baker", Multiplier: 1}, `rule 2 "baker"`},
		"no effect":           {Rule{Country: "GB"}, "rule 2"},
	} {
		if _, err := Compile(Card{Rules: []Rule{all, c.rule}}, tax, markets); err == nil || essence(err) != c.want {
			t.Errorf("%s:\n got %v\nwant %s", name, err, c.want)
		}
	}
}

// With an empty card, 23,520 cells have no price. They are reported on five lines.
func TestGapsAreGrouped(t *testing.T) {
	tax, markets, _ := shipped(t)
	_, err := Compile(Card{}, tax, markets)
	if err == nil {
		t.Fatal("got no error")
	}
	got := regexp.MustCompile(`\b[A-Z]{2,3}\b|\bother\b|\d+|\n`).FindAllString(err.Error(), -1)
	const want = "GB CH other GBP \n FR BE DE AT 4 EUR \n US USD \n CA CAD \n AU AUD"
	if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestPricePanicsOutsideTheTable(t *testing.T) {
	tax, markets := small(t)
	table, err := Compile(Card{Rules: []Rule{{Base: Amounts{money.GBP: 1000, money.EUR: 1200}}}}, tax, markets)
	if err != nil {
		t.Fatal(err)
	}
	for _, cell := range []struct {
		industry, market int
		class            Class
	}{{-1, 0, 0}, {-1, 2, 0}, {3, 0, 0}, {0, -1, 0}, {1, -1, 0}, {0, 3, 0}, {0, 0, Classes}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Price did not panic for %+v", cell)
				}
			}()
			table.Price(cell.industry, cell.market, cell.class)
		}()
	}
}

func TestTableCopiesRules(t *testing.T) {
	tax, markets := small(t)
	card := Card{Rules: []Rule{{Base: Amounts{money.GBP: 1000, money.EUR: 1200}}}}
	table, err := Compile(card, tax, markets)
	if err != nil {
		t.Fatal(err)
	}
	card.Rules[0].Base[money.GBP] = 1
	table.Rules()[0].Base[money.GBP] = 2
	if got := table.Explain(0, 0, Standard).Steps[0].Value; got != "10" {
		t.Errorf("got base price %s, want 10", got)
	}
}
