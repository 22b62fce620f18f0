package ratecard_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// supersede publishes a card as a new version.
func (w *rateCards) supersede(t *testing.T, version int, with pricingrules.Card) uuid.UUID {
	t.Helper()
	w.Exec(t, `UPDATE rate_cards SET state = 'superseded' WHERE state = 'published'`)
	return put(t, w.Database, version, models.RateCardPublished, with)
}

func times(multiplier int64, industry string) pricingrules.Rule {
	return pricingrules.Rule{Industry: industry, Multiplier: multiplier}
}

// unordered counts a card's rules, ignoring their order.
func (w *rateCards) unordered(t *testing.T, card uuid.UUID) map[pricingrules.Rule]int {
	count := map[pricingrules.Rule]int{}
	for _, rule := range w.rules(t, card) {
		count[rule]++
	}
	return count
}

func sameConflicts(t *testing.T, got, want []ratecard.Conflict) {
	t.Helper()
	same := func(a, b ratecard.Conflict) bool {
		return a.Target == b.Target && (a.Yours == nil) == (b.Yours == nil) && (a.Yours == nil || *a.Yours == *b.Yours)
	}
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("got conflicts %+v, want %+v", got, want)
	}
}

// upToDate checks that a draft was updated to a version, and that a second update does nothing.
func (w *rateCards) upToDate(t *testing.T, card uuid.UUID, version int) {
	t.Helper()
	now := w.now(t, card)
	if what := w.last(t, card).Summary; now.BasedOn != version || !strings.HasSuffix(what, " "+strconv.Itoa(version)) {
		t.Errorf("got draft based on version %d after %q", now.BasedOn, what)
	}
	if again, err := w.Update(t.Context(), card, now.RowVersion); err != nil || again != nil ||
		w.now(t, card).RowVersion != now.RowVersion {
		t.Errorf("second update: got conflicts %v (%v)", again, err)
	}
}

// Rules that only one side changed are merged. Rules that both sides changed stay as published and
// are returned as conflicts.
func TestUpdate(t *testing.T) {
	t.Parallel()
	floor := pricingrules.Rule{Industry: "plumber", Floor: all(50)}
	base := []pricingrules.Rule{times(11_000, "plumber"), times(12_000, "roofer"), times(13_000, "locksmith"),
		times(14_000, "taxi")}
	for name, c := range map[string]struct {
		mine, theirs, want []pricingrules.Rule
		conflicts          []ratecard.Conflict
	}{
		"only theirs": {base, []pricingrules.Rule{times(15_000, "plumber")},
			[]pricingrules.Rule{times(15_000, "plumber")}, nil},
		"only mine": {append([]pricingrules.Rule{times(15_000, "plumber")}, base[1:]...),
			append([]pricingrules.Rule{times(16_000, "tutor")}, base...),
			append([]pricingrules.Rule{times(15_000, "plumber"), times(16_000, "tutor")}, base[1:]...), nil},
		"removed by me": {base[1:], append([]pricingrules.Rule{times(16_000, "tutor")}, base...),
			append([]pricingrules.Rule{times(16_000, "tutor")}, base[1:]...), nil},
		"added by me": {append([]pricingrules.Rule{times(16_000, "tutor")}, base...), base[1:],
			append([]pricingrules.Rule{times(16_000, "tutor")}, base[1:]...), nil},
		"both the same": {append([]pricingrules.Rule{times(16_000, "tutor")}, base[1:]...),
			append([]pricingrules.Rule{times(16_000, "tutor")}, base[1:]...),
			append([]pricingrules.Rule{times(16_000, "tutor")}, base[1:]...), nil},
		"both different": {append([]pricingrules.Rule{times(15_000, "plumber")}, base[1:]...), append([]pricingrules.Rule{times(16_000, "plumber")}, base[1:]...), append([]pricingrules.Rule{times(16_000, "plumber")}, base[1:]...), []ratecard.Conflict{{
			Target: pricingrules.Target{Industry: "plumber"},
			Yours:  new(times(15_000, "plumber")),
		}}},
		"removed by me, changed by them": {base[1:], append([]pricingrules.Rule{times(16_000, "plumber")}, base[1:]...),
			append([]pricingrules.Rule{times(16_000, "plumber")}, base[1:]...),
			[]ratecard.Conflict{{Target: pricingrules.Target{Industry: "plumber"}}}},
		"changed by me, removed by them": {append([]pricingrules.Rule{times(15_000, "plumber")}, base[1:]...), base[1:], base[1:], []ratecard.Conflict{{
			Target: pricingrules.Target{Industry: "plumber"},
			Yours:  new(times(15_000, "plumber")),
		}}},
		"two rules with one target": {append([]pricingrules.Rule{floor}, base...),
			append([]pricingrules.Rule{times(16_000, "tutor")}, base...),
			append([]pricingrules.Rule{floor, times(16_000, "tutor")}, base...), nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRateCards(t, everywhere(1000, base...))
			card := w.draft(t)
			if _, err := w.Replace(t.Context(), card.ID, card.RowVersion, "mine", everywhere(1000, c.mine...)); err != nil {
				t.Fatal(err)
			}
			had := w.rules(t, card.ID)
			w.supersede(t, 2, everywhere(1000, c.theirs...))
			before := w.now(t, card.ID)
			_, err := w.Update(t.Context(), card.ID, before.RowVersion-1)
			rejected(t, err, apperr.Conflict, "changed")

			conflicts, err := w.Update(t.Context(), card.ID, before.RowVersion)
			must(t, err)
			sameConflicts(t, conflicts, c.conflicts)
			want := map[pricingrules.Rule]int{}
			for _, rule := range everywhere(1000, c.want...).Rules {
				want[rule]++
			}
			if got := w.unordered(t, card.ID); !maps.Equal(got, want) {
				t.Errorf("got rules %+v, want %+v", got, want)
			}
			w.upToDate(t, card.ID, 2)
			must(t, w.Undo(t.Context(), card.ID, w.last(t, card.ID).ID))
			w.has(t, card.ID, had)
			if now := w.now(t, card.ID); now.BasedOn != 1 {
				t.Errorf("got draft based on version %d after undo", now.BasedOn)
			}
		})
	}
}

// An update is saved as an edit even if it changes no rules.
func TestUpdateWithoutRuleChanges(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000), everywhere(2000))
	card, err := w.CreateDraft(t.Context(), "", 1) // rolls back to version 1
	must(t, err)
	w.supersede(t, 3, everywhere(2000))
	w.supersede(t, 4, everywhere(2000, times(12_000, "plumber")))
	conflicts, err := w.Update(t.Context(), card.ID, card.RowVersion)
	if err != nil || len(conflicts) != 0 {
		t.Fatalf("got conflicts %+v (%v)", conflicts, err)
	}
	if got := w.unordered(t, card.ID); len(got) != 2 || got[everywhere(1000).Rules[0]] != 1 ||
		got[times(12_000, "plumber")] != 1 {
		t.Errorf("got rules %+v", got)
	}
	w.supersede(t, 5, everywhere(1000, times(12_000, "plumber")))
	now := w.now(t, card.ID)
	if _, err := w.Update(t.Context(), card.ID, now.RowVersion); err != nil {
		t.Fatal(err)
	}
	if now := w.now(t, card.ID); now.BasedOn != 5 || w.last(t, card.ID).Rules != 0 {
		t.Errorf("got draft based on version %d after an edit of %d rules", now.BasedOn, w.last(t, card.ID).Rules)
	}
	must(t, w.Undo(t.Context(), card.ID, w.last(t, card.ID).ID))
	if now := w.now(t, card.ID); now.BasedOn != 4 {
		t.Errorf("got draft based on version %d after undo", now.BasedOn)
	}
}
