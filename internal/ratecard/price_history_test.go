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
	for _, c := range []struct {
		country string
		before  int
		want    string
	}{
		{"GB", 0, "2–13 true [13 10.00 GBP 12 11.00 GBP 2 10.00 GBP]"},
		{"FR", 0, "2–13 true [11 12.00 EUR 2 10.00 EUR]"},
		{"GB", 13, "1–12 false [12 11.00 GBP 2 10.00 GBP 1 9.00 GBP]"},
		{"GB", 2, "1–1 false [1 9.00 GBP]"},
		{"GB", 1, "0–0 false []"},
	} {
		h, err := w.PriceHistory(t.Context(), ratecard.Lead{Industry: "plumber", Country: c.country}, c.before)
		if err != nil {
			t.Fatal(err)
		}
		changes := []any{}
		for _, change := range h.Changes {
			changes = append(changes, change.Card.Version, change.Cell)
		}
		if got := fmt.Sprintf("%d–%d %t %v", h.Oldest, h.Newest, h.More, changes); got != c.want {
			t.Errorf("%s before version %d: got %s, want %s", c.country, c.before, got, c.want)
		}
	}
	_, err := w.PriceHistory(t.Context(), ratecard.Lead{Industry: "plummer", Country: "GB"}, 0)
	rejected(t, err, apperr.Invalid, "industry")
}
