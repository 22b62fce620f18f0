package pricingrules

import (
	"slices"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/base/money"
)

func TestFormatCard(t *testing.T) {
	got := string(FormatCard(Card{Rules: []Rule{
		{
			Industry:   "plumber",
			Country:    "GB",
			Urgency:    "emergency",
			Base:       Amounts{money.EUR: 5300, money.GBP: 4560},
			Floor:      Amounts{money.AUD: 1},
			Ceiling:    Amounts{money.USD: MaxAmount},
			Multiplier: 15000,
			Exclude:    ExcludeFalse,
			Note:       `Bursts: "now" # × 1.5`,
		},
		{Category: "automotive", Country: "NO", Exclude: ExcludeTrue},
	}}))
	want := `rules:
  - industry: plumber
    country: GB
    urgency: emergency
    base: {GBP: 45.6, EUR: 53}
    floor: {AUD: 0.01}
    ceiling: {USD: 1000000}
    multiplier: 1.5
    exclude: false
    note: "Bursts: \"now\" # × 1.5"
  - category: automotive
    country: "NO"
    exclude: true
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestFormatEmptyCard(t *testing.T) {
	card, err := ParseCard("f.yaml", FormatCard(Card{}))
	if err != nil || len(card.Rules) != 0 {
		t.Errorf("got %d rules, %v", len(card.Rules), err)
	}
}

// withoutLines returns a card's rules without line numbers.
func withoutLines(card Card) []Rule {
	rules := slices.Clone(card.Rules)
	for i := range rules {
		rules[i].Line = 0
	}
	return rules
}

func sameAfterFormatting(t rapid.TB, card Card) {
	t.Helper()
	text := FormatCard(card)
	again, err := ParseCard("f.yaml", text)
	if err != nil {
		t.Fatalf("the formatted card was rejected:\n%v\n%s", err, text)
	}
	if !slices.Equal(withoutLines(again), withoutLines(card)) {
		t.Fatalf("got\n%+v\nwant\n%+v\nfrom\n%s", again.Rules, card.Rules, text)
	}
}

func TestShippedCardRoundTrip(t *testing.T) {
	_, _, card := shipped(t)
	sameAfterFormatting(t, card)
}

func TestCardRoundTrip(t *testing.T) {
	amounts := rapid.Custom(func(t *rapid.T) Amounts {
		var a Amounts
		for _, c := range money.Currencies {
			a[c] = rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(1, MaxAmount)).Draw(t, c.String())
		}
		return a
	})
	// These strings include some that YAML could parse as other types.
	text := rapid.OneOf(rapid.Just(""), rapid.StringN(0, 40, -1),
		rapid.SampledFrom([]string{"true", "null", "~", "NO", "yes", "1", "0x1", "1.5", "2026-01-02", "- a", "a: b",
			"#", "'", `"`, "<<", "*a", "&a", "!!int 1", "\u2028", "\ufeff", "é"}))
	rapid.Check(t, func(t *rapid.T) {
		card := Card{Rules: rapid.SliceOf(rapid.Custom(func(t *rapid.T) Rule {
			r := Rule{
				Country:    text.Draw(t, "country"),
				Urgency:    rapid.SampledFrom(append([]string{""}, classNames[:]...)).Draw(t, "urgency"),
				Base:       amounts.Draw(t, "base"),
				Floor:      amounts.Draw(t, "floor"),
				Ceiling:    amounts.Draw(t, "ceiling"),
				Multiplier: rapid.Int64Range(1, MaxMultiplier).Draw(t, "multiplier"),
				Exclude:    rapid.SampledFrom([]Exclusion{ExcludeUnset, ExcludeTrue, ExcludeFalse}).Draw(t, "exclude"),
				Note: text.Filter(func(s string) bool {
					return !slices.ContainsFunc([]rune(s), unicode.IsControl)
				}).Draw(t, "note"),
			}
			if rapid.Bool().Draw(t, "by category") {
				r.Category = text.Draw(t, "category")
			} else {
				r.Industry = text.Draw(t, "industry")
			}
			return r
		})).Draw(t, "rules")}
		sameAfterFormatting(t, card)
	})
}
