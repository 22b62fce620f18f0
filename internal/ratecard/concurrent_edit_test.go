package ratecard_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// If two nodes edit different cells of a draft at the same time, all edits are saved and can be
// undone. If they edit the same cell, the second edit is rejected as a conflict.
func TestConcurrentEdits(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	card := w.draft(t)
	number := w.snapshotNumber(t)
	codes := []string{"GB", "FR", "DE", "US", "other"}
	var conflicts atomic.Int64
	var all sync.WaitGroup
	for i, industry := range []string{"plumber", "roofer"} {
		node := w.node(t, testkit.Open(t, w.AppURL), w.jobs).By(ann)
		all.Go(func() {
			for _, code := range codes {
				target := pricingrules.Target{Industry: industry, Country: code}
				if err := node.SetBase(t.Context(), card.ID, target, 0, int64(i+1)); err != nil {
					t.Error(err)
				}
			}
			err := node.SetBase(t.Context(), card.ID, pricingrules.Target{Industry: "locksmith", Country: "GB"}, 0, int64(i+1))
			if f := apperr.As(err); f != nil && f.Reason == "cell_changed" {
				conflicts.Add(1)
			} else if err != nil {
				t.Error(err)
			}
			if compiled, err := node.ExamineCard(t.Context(), w.now(t, card.ID)); err != nil || len(compiled.Problems) > 0 {
				t.Errorf("got compiled card %v (%v), want no problems", compiled, err)
			}
		})
	}
	all.Wait()
	const edits = 11
	if n := conflicts.Load(); n != 1 {
		t.Errorf("got %d conflicts, want 1", n)
	}
	if now, rules := w.now(t, card.ID), w.rules(t, card.ID); now.RowVersion != card.RowVersion+edits ||
		len(rules) != 1+edits {
		t.Errorf("got %d rules after %d edits, want %d after %d", len(rules), now.RowVersion-card.RowVersion, 1+edits, edits)
	}
	for range edits {
		must(t, w.Undo(t.Context(), card.ID, w.last(t, card.ID).ID))
	}
	w.has(t, card.ID, numbered(everywhere(1000).Rules...))
	if after := w.snapshotNumber(t); after != number {
		t.Errorf("snapshot number changed from %d to %d", number, after)
	}
}

// If a draft is edited and published at the same time, one of the requests is rejected.
func TestConcurrentEditAndPublish(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	card := w.changed(t, 2000)
	editor, publisher := w.node(t, testkit.Open(t, w.AppURL), w.jobs).
		By(bob), w.node(t, testkit.Open(t, w.AppURL), w.jobs).By(ann)
	var edited, published error
	var all sync.WaitGroup
	all.Go(func() { edited = editor.SetBase(t.Context(), card.ID, plumbers, 0, 5) })
	all.Go(func() { _, published = publisher.Publish(t.Context(), card.ID, card.RowVersion, "A note", at0) })
	all.Wait()
	now := w.now(t, card.ID)
	switch {
	case published == nil:
		rejected(t, edited, apperr.Conflict, "state", "published as version 2")
		if now.State != models.RateCardPublished || len(w.rules(t, card.ID)) != 1 {
			t.Errorf("got state %s with rules %v", now.State, w.rules(t, card.ID))
		}
	default: // the edit came first
		rejected(t, published, apperr.Conflict, "changed")
		if edited != nil || now.State != models.RateCardDraft || len(w.rules(t, card.ID)) != 2 {
			t.Errorf("got state %s with rules %v (%v)", now.State, w.rules(t, card.ID), edited)
		}
	}
}

func TestReplaceRejectsTooManyRules(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	card := w.draft(t)
	var many pricingrules.Card
	for n := range pricingrules.MaxRules + 1 {
		many.Rules = append(many.Rules, pricingrules.Rule{Multiplier: int64(n + 1)})
	}
	_, err := w.Replace(t.Context(), card.ID, card.RowVersion, "too many", many)
	rejected(t, err, apperr.Invalid, "too_many_rules", "50000")
	w.has(t, card.ID, numbered(everywhere(1000).Rules...))
}
