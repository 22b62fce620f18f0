package pricingrules

import (
	"errors"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/money"
)

// A file can contain MaxRules rules with usual fields.
func TestLargestRateCard(t *testing.T) {
	tax, markets, _, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	card := manyRules(t, tax, markets, MaxRules)
	for i := range card.Rules {
		if r := &card.Rules[i]; r.Base != (Amounts{}) {
			r.Base, r.Multiplier = Amounts{money.GBP: 1000, money.EUR: 1100}, 0
		}
	}
	data := FormatCard(card)
	got, err := ParseCard("f.yaml", data)
	if err != nil || len(got.Rules) != len(card.Rules) || len(data) > MaxFile {
		t.Errorf("got %d rules and error %v from %d bytes, want %d rules", len(got.Rules), err, len(data), len(card.Rules))
	}
	_, err = ParseCard("f.yaml", []byte("rules:\n"+strings.Repeat("- {base: {GBP: 1}}\n", MaxRules+1)))
	problems, ok := errors.AsType[Problems](err)
	if !ok || len(problems) != 1 || problems[0].Line != MaxRules+2 {
		t.Errorf("too many rules: got %v, want one problem on line %d", err, MaxRules+2)
	}
}
