package ratecard_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// last returns the last edit of a draft, ignoring undone edits.
func (w *rateCards) last(t testing.TB, card uuid.UUID) models.RateCardEdit {
	t.Helper()
	edits, _, _, err := w.Edits(t.Context(), card, firstPage)
	must(t, err)
	at := slices.IndexFunc(edits, func(e models.RateCardEdit) bool { return e.UndoneAt == nil })
	if at < 0 {
		t.Fatal("there is no edit to undo")
	}
	return edits[at]
}

// Edits are undone in reverse order. Undoing an edit that is not the last one returns a conflict.
func TestUndo(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	card := w.draft(t)
	number := w.snapshotNumber(t)
	rejected(t, w.Undo(t.Context(), card.ID, 1), apperr.Conflict, "undone")
	must(t, w.SetBase(t.Context(), card.ID, plumbers, 0, 10))
	first := w.last(t, card.ID)
	must(t,
		w.bob.PutRule(t.Context(), card.ID, w.now(t, card.ID).RowVersion, 0,
			pricingrules.Rule{Urgency: "urgent", Multiplier: 12_000}))
	before := w.rules(t, card.ID)
	rejected(t, w.Undo(t.Context(), card.ID, first.ID), apperr.Conflict, "changed", "bob@example.com", "urgency: urgent")
	w.has(t, card.ID, before)

	second := w.last(t, card.ID)
	must(t, w.Undo(t.Context(), card.ID, second.ID))
	delete(before, 3)
	w.has(t, card.ID, before)
	rejected(t, w.Undo(t.Context(), card.ID, second.ID), apperr.Conflict, "changed") // repeated request
	w.has(t, card.ID, before)
	must(t, w.SetBase(t.Context(), card.ID, plumbers, 10, 20)) // a new edit after an undo
	must(t, w.Undo(t.Context(), card.ID, w.last(t, card.ID).ID))
	must(t, w.bob.Undo(t.Context(), card.ID, first.ID))
	w.has(t, card.ID, numbered(everywhere(1000).Rules...))
	rejected(t, w.Undo(t.Context(), card.ID, first.ID), apperr.Conflict, "undone")

	edits, _, _, err := w.Edits(t.Context(), card.ID, firstPage)
	if err != nil || len(edits) != 3 || edits[2].UndoneBy != bob.Name || edits[2].UndoneAt == nil ||
		!edits[2].UndoneAt.Equal(w.clock.Now()) || edits[2].Patch != "" {
		t.Errorf("%+v (%v)", edits, err)
	}
	w.audited(t, card.ID, "ann@example.com pricing.create", "ann@example.com pricing.edit", "bob@example.com pricing.edit", "ann@example.com pricing.undo",
		"ann@example.com pricing.edit", "ann@example.com pricing.undo", "bob@example.com pricing.undo")
	if after := w.snapshotNumber(t); after != number {
		t.Errorf("snapshot number changed from %d to %d", number, after)
	}
	rejected(t, w.Undo(t.Context(), uuid.New(), 1), apperr.NotFound, "draft")
}

func TestEditsArePaged(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	card := w.draft(t)
	for minor := range int64(5) {
		must(t, w.SetBase(t.Context(), card.ID, plumbers, minor, minor+1))
	}
	page, newer, older, err := w.Edits(t.Context(), card.ID, postgres.Page[int64]{Size: 2})
	if err != nil || len(page) != 2 || newer || !older {
		t.Fatalf("got %d edits, newer %t, older %t (%v), want 2 and older ones", len(page), newer, older, err)
	}
	next, newer, older, err := w.Edits(t.Context(), card.ID, postgres.Page[int64]{Size: 3, After: page[1].ID})
	if err != nil || len(next) != 3 || !newer || older || next[0].ID >= page[1].ID {
		t.Errorf("got %d edits, newer %t, older %t (%v), want 3 and newer ones", len(next), newer, older, err)
	}
}

// Undoing every edit restores the original rules. The compiled card always matches the stored rules.
func TestUndoRevertsAllEdits(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(900, pricingrules.Rule{Industry: "locksmith", Exclude: pricingrules.ExcludeTrue}),
		everywhere(1000, pricingrules.Rule{Urgency: "urgent", Multiplier: 12_000}, pricingrules.Rule{
			Industry:   "plumber",
			Country:    "GB",
			Base:       all(4560),
			Multiplier: 11_000,
		}))
	rapid.Check(t, func(rt *rapid.T) {
		card, err := w.CreateDraft(t.Context(), "", rapid.IntRange(0, 2).Draw(rt, "from"))
		must(t, err)
		states := []map[int]pricingrules.Rule{w.rules(t, card.ID)}
		for range rapid.IntRange(1, 6).Draw(rt, "edits") {
			if len(states) > 1 && rapid.IntRange(0, 3).Draw(rt, "undo") == 0 {
				must(t, w.Undo(t.Context(), card.ID, w.last(t, card.ID).ID))
				states = states[:len(states)-1]
				same(rt, w.rules(t, card.ID), states[len(states)-1])
				continue
			}
			before := w.now(t, card.ID).RowVersion
			if err := w.randomEdit(t, rt, card.ID, before); err != nil && apperr.As(err) == nil {
				rt.Fatal(err)
			}
			now := w.rules(t, card.ID)
			if w.now(t, card.ID).RowVersion == before {
				same(rt, now, states[len(states)-1])
				continue
			}
			states = append(states, now)
			if rapid.IntRange(0, 2).Draw(rt, "compare") == 0 { // a comparison takes ten times as long as an edit
				w.checkCompiled(t, rt, card.ID)
			}
		}
		for i := len(states) - 2; i >= 0; i-- {
			must(t, w.Undo(t.Context(), card.ID, w.last(t, card.ID).ID))
			same(rt, w.rules(t, card.ID), states[i])
		}
		w.checkCompiled(t, rt, card.ID)
		must(t, w.Discard(t.Context(), card.ID, w.now(t, card.ID).RowVersion))
	})
}

func same(rt *rapid.T, got, want map[int]pricingrules.Rule) {
	if !maps.Equal(got, want) {
		rt.Fatalf("got rules %+v\nwant %+v", got, want)
	}
}

// checkCompiled compares a draft's compiled card with its rows.
func (w *rateCards) checkCompiled(t *testing.T, rt *rapid.T, card uuid.UUID) {
	compiled, err := w.ExamineCard(t.Context(), w.now(t, card))
	must(t, err)
	rules := w.rules(t, card)
	var read pricingrules.Card
	for _, at := range slices.Sorted(maps.Keys(rules)) {
		read.Rules = append(read.Rules, rules[at])
	}
	table, problems := pricingrules.Examine(read, w.Taxonomy(), w.Markets())
	if !slices.Equal(problems, compiled.Problems) ||
		!slices.Equal(compiled.Positions, slices.Sorted(maps.Keys(rules))) || len(pricingrules.Diff(table, compiled.Table)) > 0 {
		rt.Fatalf("got compiled rules %+v at %v with %v; stored rules are %+v with %v", compiled.Card.Rules,
			compiled.Positions, compiled.Problems, rules, problems)
	}
}

// randomEdit makes a random edit, which may be rejected or change nothing.
func (w *rateCards) randomEdit(t *testing.T, rt *rapid.T, card uuid.UUID, version int) error {
	minor := rapid.Int64Range(0, 3).Draw(rt, "minor")
	position := rapid.IntRange(1, 5).Draw(rt, "position")
	switch rapid.IntRange(0, 4).Draw(rt, "edit") {
	case 0:
		target := randomTarget(rt)
		return w.SetBase(t.Context(), card, target, rapid.SampledFrom([]int64{0, 0, 1, 4560}).Draw(rt, "was"), minor)
	case 1:
		var changes []ratecard.BaseChange
		for range rapid.IntRange(1, 4).Draw(rt, "changes") {
			changes = append(changes, ratecard.BaseChange{
				Target: randomTarget(rt),
				Minor:  rapid.Int64Range(0, 3).Draw(rt, "base"),
			})
		}
		_, err := w.SetBases(t.Context(), card, version, "many", changes)
		return err
	case 2:
		return w.PutRule(t.Context(), card, version, rapid.SampledFrom([]int{0, position}).Draw(rt, "at"), randomRule(rt))
	case 3:
		return w.DropRule(t.Context(), card, version, position)
	}
	with := pricingrules.Card{Rules: []pricingrules.Rule{randomRule(rt), randomRule(rt)}}
	for _, at := range slices.Sorted(maps.Keys(w.rules(t, card))) {
		if rapid.Bool().Draw(rt, "keep") {
			with.Rules = append(with.Rules, w.rules(t, card)[at])
		}
	}
	_, err := w.Replace(t.Context(), card, version, "replaced", with)
	return err
}

func randomTarget(rt *rapid.T) pricingrules.Target {
	target := pricingrules.Target{
		Country: rapid.SampledFrom([]string{"GB", "FR", "other"}).Draw(rt, "country"),
		Urgency: rapid.SampledFrom([]string{"", "urgent"}).Draw(rt, "urgency"),
	}
	if rapid.Bool().Draw(rt, "category") {
		target.Category = "home-services"
	} else {
		target.Industry = rapid.SampledFrom([]string{"plumber", "locksmith"}).Draw(rt, "industry")
	}
	return target
}

func randomRule(rt *rapid.T) pricingrules.Rule {
	rule := pricingrules.Rule{
		Multiplier: rapid.SampledFrom([]int64{0, 10_000, 15_000}).Draw(rt, "multiplier"),
		Floor:      pricingrules.Amounts{1: rapid.Int64Range(0, 2).Draw(rt, "floor")},
		Exclude:    rapid.SampledFrom([]pricingrules.Exclusion{0, 0, pricingrules.ExcludeTrue, pricingrules.ExcludeFalse}).Draw(rt, "exclude"),
		Note:       rapid.SampledFrom([]string{"", "a note"}).Draw(rt, "note"),
	}
	if rapid.Bool().Draw(rt, "a base") {
		rule.Base = all(rapid.Int64Range(1, 3).Draw(rt, "amount"))
	}
	return rule.For(randomTarget(rt))
}
