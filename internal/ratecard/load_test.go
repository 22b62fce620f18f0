package ratecard_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// The stored card must price every cell like the shipped card.
func TestStoredCardPricesLikeShippedCard(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	s := service(t, d)
	if _, err := s.PublishShipped(t.Context()); err != nil {
		t.Fatal(err)
	}
	snapshot, err := s.LoadCurrent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	taxonomy, markets, card, err := pricingrules.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	want, err := pricingrules.Compile(card, taxonomy, markets)
	if err != nil {
		t.Fatal(err)
	}
	if snapshot.Version != 1 || snapshot.Taxonomy != s.Taxonomy() || snapshot.Markets.Len() != markets.Len() {
		t.Errorf("got version %d, %d markets", snapshot.Version, snapshot.Markets.Len())
	}
	cells := 0
	for industry := range taxonomy.Len() {
		for market := range markets.Len() {
			for class := range pricingrules.Class(pricingrules.Classes) {
				if got, want := snapshot.Table.Price(industry, market, class), want.Price(industry, market, class); got != want {
					t.Errorf("%s: got %v, want %v", snapshot.Table.Explain(industry, market, class).Name(), got, want)
				}
				cells++
			}
		}
	}
	if cells != 336*14*pricingrules.Classes {
		t.Errorf("compared %d cells, want %d", cells, 336*14*pricingrules.Classes)
	}
	if rules := withoutLines(want.Rules()); !slices.Equal(snapshot.Table.Rules(), rules) {
		t.Errorf("got %d stored rules, which differ from the %d shipped rules", len(snapshot.Table.Rules()), len(rules))
	}
}

// withoutLines removes line numbers from rules.
func withoutLines(rules []pricingrules.Rule) []pricingrules.Rule {
	for i := range rules {
		rules[i].Line = 0
	}
	return rules
}

// The highest published version is current. Drafts and superseded versions are ignored.
func TestLoadCurrent(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	s := service(t, d)
	_, err := s.LoadCurrent(t.Context())
	if f := apperr.As(err); f == nil || f.Code != apperr.NotFound {
		t.Errorf("without a version: got error %v", err)
	}
	expectCurrent := func(want int) {
		t.Helper()
		snapshot, err := s.LoadCurrent(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		cell := snapshot.Table.Price(0, 0, pricingrules.Standard)
		if snapshot.Version != want || cell.Minor != int64(want*1000) {
			t.Errorf("got current version %d at %v, want %d", snapshot.Version, cell, want)
		}
	}
	put(t, d, 1, models.RateCardSuperseded, everywhere(1000))
	put(t, d, 2, models.RateCardPublished, everywhere(2000))
	next := put(t, d, 0, models.RateCardDraft, everywhere(3000))
	expectCurrent(2)
	d.Exec(t, `UPDATE rate_cards SET state = 'published', version = 3, effective_at = now() WHERE id = $1`, next)
	expectCurrent(3)
	d.Exec(t, `UPDATE rate_cards SET state = 'superseded' WHERE id = $1`, next)
	expectCurrent(2)
}

// If a version cannot be read, the error contains the version and the rule.
func TestLoadCurrentReportsUnreadableRule(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	s := service(t, d)
	for i, c := range []struct{ name, column, value, want string }{
		{"unknown currency", "base", `{"CHF": 100}`, "rule 2"},
		{"not amounts", "floor", `["GBP"]`, "rule 2"},
		{"amount as a string", "ceiling", `{"GBP": "100"}`, "rule 2"},
		{"fractional amount", "ceiling", `{"GBP": 1.5}`, "rule 2"},
		{"negative amount", "base", `{"GBP": -5}`, "base in GBP"},
	} {
		version := fmt.Sprint("rate card v", i+1)
		card := put(t, d, 0, models.RateCardDraft, everywhere(1000))
		d.Exec(t,
			`INSERT INTO pricing_rules (rate_card_id, position, industry, `+c.column+`) VALUES ($1, 2, 'plumber', $2::jsonb)`,
			card, c.value)
		d.Exec(t, `UPDATE rate_cards SET state = 'published', version = $2, effective_at = now() WHERE id = $1`, card, i+1)
		if _, err := s.LoadCurrent(t.Context()); err == nil || !strings.Contains(err.Error(), version) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want it to contain %s and %s", c.name, err, version, c.want)
		}
	}
}

func TestDatabaseFailureIsInternalError(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	s := service(t, d)
	d.Close()
	if _, err := s.LoadCurrent(t.Context()); err == nil || apperr.As(err) != nil {
		t.Errorf("got %v, want an internal error", err)
	}
	if _, err := s.PublishShipped(t.Context()); err == nil || apperr.As(err) != nil {
		t.Errorf("got %v, want an internal error", err)
	}
}

func amounts(rt *rapid.T, name string) (a pricingrules.Amounts) {
	for _, currency := range money.Currencies {
		if rapid.Bool().Draw(rt, name) {
			a[currency] = rapid.Int64Range(1, pricingrules.MaxAmount).Draw(rt, name)
		}
	}
	return a
}

// Rules that are converted to rows and back must not change.
func TestRowsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		card := pricingrules.Card{}
		for range rapid.IntRange(0, 5).Draw(rt, "rules") {
			word := rapid.SampledFrom([]string{"", "plumber", "GB", "other"})
			card.Rules = append(card.Rules, pricingrules.Rule{
				Industry:   word.Draw(rt, "industry"),
				Category:   word.Draw(rt, "category"),
				Country:    word.Draw(rt, "country"),
				Urgency:    word.Draw(rt, "urgency"),
				Base:       amounts(rt, "base"),
				Floor:      amounts(rt, "floor"),
				Ceiling:    amounts(rt, "ceiling"),
				Multiplier: rapid.SampledFrom([]int64{0, 1, pricingrules.MultiplierOne, pricingrules.MaxMultiplier}).Draw(rt, "multiplier"),
				Exclude:    rapid.SampledFrom([]pricingrules.Exclusion{pricingrules.ExcludeUnset, pricingrules.ExcludeTrue, pricingrules.ExcludeFalse}).Draw(rt, "exclude"),
				Note:       rapid.String().Draw(rt, "note"),
			})
		}
		rows, err := ratecard.ToRows(uuid.New(), card)
		if err != nil {
			rt.Fatal(err)
		}
		for i, row := range rows {
			if row.Position != i+1 {
				rt.Fatalf("row %d: got position %d, want %d", i, row.Position, i+1)
			}
		}
		back, err := ratecard.FromRows(rows)
		if err != nil {
			rt.Fatal(err)
		}
		if !slices.Equal(back.Rules, card.Rules) {
			rt.Fatalf("got rules %+v, want %+v", back.Rules, card.Rules)
		}
	})
}
