package ratecard_test

import (
	"fmt"
	"testing"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

func TestPriceHistory(t *testing.T) {
	t.Parallel()
	french := func(minor int64) pricingrules.Rule {
		return pricingrules.Rule{Industry: "plumber", Country: "FR", Base: all(minor)}
	}
	cards := []pricingrules.Card{everywhere(900)}
	for range 9 {
		cards = append(cards, everywhere(1000)) // versions 2 to 10
	}
	cards = append(cards, everywhere(1000, french(1200)), everywhere(1100, french(1200)), everywhere(1000, french(1200)))
	w := newRateCards(t, cards...)
	for country, want := range map[string]string{
		"GB": "[13 10.00 GBP 12 11.00 GBP 2 10.00 GBP]",
		"FR": "[11 12.00 EUR 2 10.00 EUR]",
	} {
		changes, more, err := w.PriceHistory(t.Context(), ratecard.Lead{Industry: "plumber", Country: country})
		if err != nil || !more {
			t.Fatalf("%s: more %t (%v), want true, because version 1 is too old", country, more, err)
		}
		var got []any
		for _, c := range changes {
			got = append(got, c.Card.Version, c.Cell)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, want %s", country, got, want)
		}
	}
	_, _, err := w.PriceHistory(t.Context(), ratecard.Lead{Industry: "plummer", Country: "GB"})
	rejected(t, err, apperr.Invalid, "industry")
}
