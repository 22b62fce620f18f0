package ratecard_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

func TestCreateDraft(t *testing.T) {
	t.Parallel()
	old, live := everywhere(1000), everywhere(2000, pricingrules.Rule{
		Industry:   "plumber",
		Multiplier: 12_000,
		Note:       "a note",
	})
	w := newRateCards(t, old, live)
	for from, want := range map[int]pricingrules.Card{0: live, 1: old, 2: live} {
		card, err := w.CreateDraft(t.Context(), "  Winter ", from)
		must(t, err)
		if card.State != models.RateCardDraft || card.Version != 0 || card.Title != "Winter" ||
			card.Author != ann.Name || card.UpdatedBy != ann.Name || !card.CreatedAt.Equal(w.clock.Now()) {
			t.Errorf("from %d: got draft %+v", from, card)
		}
		// A draft is always based on the current version, even if its rules come from another version.
		if now := w.now(t, card.ID); now.BasedOn != 2 || now.RowVersion != card.RowVersion || now.Title != "Winter" {
			t.Errorf("from %d: got row %+v", from, now)
		}
		w.has(t, card.ID, numbered(want.Rules...))
		w.audited(t, card.ID, "ann@example.com pricing.create")
	}
	_, err := w.CreateDraft(t.Context(), "", 3)
	rejected(t, err, apperr.NotFound, "version")
	for _, title := range []string{strings.Repeat("é", 201), "two\nlines", "\xff"} {
		_, err := w.CreateDraft(t.Context(), title, 0)
		if f := apperr.As(err); f == nil || f.Code != apperr.Invalid || len(f.Fields) != 1 || f.Fields[0].Path[0] != "title" {
			t.Errorf("title %q: got error %v", title, err)
		}
	}
	if list, err := w.Drafts(t.Context()); err != nil || len(list) != 3 {
		t.Errorf("got %d drafts (%v), want 3", len(list), err)
	}
}

// A draft cannot be created if there is no current version or if there are too many drafts.
func TestCreateDraftLimits(t *testing.T) {
	t.Parallel()
	w := newRateCards(t)
	if _, err := w.CreateDraft(t.Context(), "", 0); apperr.As(err) == nil || apperr.As(err).Code != apperr.NotFound {
		t.Errorf("without a version: got error %v", err)
	}
	put(t, w.Database, 1, models.RateCardPublished, everywhere(1000))
	var last models.RateCard
	for range ratecard.MaxDrafts {
		last = w.draft(t)
	}
	_, err := w.CreateDraft(t.Context(), "", 0)
	rejected(t, err, apperr.Conflict, "too_many_drafts")
	must(t, w.Discard(t.Context(), last.ID, last.RowVersion))
	w.draft(t)
}

func TestRename(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	card := w.draft(t)
	w.clock.Advance(time.Hour)
	must(t, w.bob.Rename(t.Context(), card.ID, card.RowVersion, " Summer "))
	now := w.now(t, card.ID)
	if now.Title != "Summer" || now.UpdatedBy != bob.Name || now.Author != ann.Name ||
		!now.UpdatedAt.Equal(w.clock.Now()) || now.RowVersion != card.RowVersion+1 {
		t.Errorf("got renamed draft %+v", now)
	}
	rejected(t, w.Rename(t.Context(), card.ID, card.RowVersion, "Autumn"), apperr.Conflict, "changed")
	must(t, w.Rename(t.Context(), card.ID, now.RowVersion, "Summer")) // unchanged
	if again := w.now(t, card.ID); again.Title != "Summer" || again.RowVersion != now.RowVersion {
		t.Errorf("got %+v after a rename to the same title", again)
	}
	rejected(t, w.Rename(t.Context(), uuid.New(), 1, "x"), apperr.NotFound, "draft")
	rejected(t, w.Rename(t.Context(), card.ID, now.RowVersion, "a\tb"), apperr.Invalid, "text")
	w.audited(t, card.ID, "ann@example.com pricing.create", "bob@example.com pricing.rename")
}

func TestDiscard(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	card := w.draft(t)
	rejected(t, w.Discard(t.Context(), card.ID, card.RowVersion+1), apperr.Conflict, "changed")
	must(t, w.Discard(t.Context(), card.ID, card.RowVersion))
	now := w.now(t, card.ID)
	if now.State != models.RateCardDiscarded {
		t.Errorf("got state %s", now.State)
	}
	rejected(t, w.Discard(t.Context(), card.ID, now.RowVersion), apperr.Conflict, "state")
	rejected(t, w.Rename(t.Context(), card.ID, now.RowVersion, "x"), apperr.Conflict, "state")
	if _, err := w.SetBases(t.Context(), card.ID, now.RowVersion, "x",
		[]ratecard.BaseChange{{Target: plumbers, Minor: 5}}); err == nil {
		t.Error("changing a discarded draft: got no error")
	}
	if list, err := w.Drafts(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("got open drafts %v (%v), want none", list, err)
	}
	if found, err := w.Draft(t.Context(), ratecard.ID(card.ID)); err != nil || found.ID != card.ID {
		t.Errorf("finding the discarded draft: got %s (%v)", found.ID, err)
	}
	w.audited(t, card.ID, "ann@example.com pricing.create", "ann@example.com pricing.discard")
}

// Drafts are listed with their edit counts, most recently edited first.
func TestDrafts(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	first := w.draft(t)
	w.clock.Advance(time.Minute)
	second := w.draft(t)
	w.clock.Advance(time.Minute)
	for minor := range int64(3) {
		must(t, w.SetBase(t.Context(), first.ID, plumbers, minor, minor+1))
	}
	edits, _, _, err := w.Edits(t.Context(), first.ID, firstPage)
	must(t, err)
	must(t, w.Undo(t.Context(), first.ID, edits[0].ID))
	list, err := w.Drafts(t.Context())
	must(t, err)
	got := map[uuid.UUID]int{}
	for _, listed := range list {
		got[listed.ID] = listed.Edits
	}
	if len(list) != 2 || list[0].ID != first.ID || !maps.Equal(got, map[uuid.UUID]int{first.ID: 2, second.ID: 0}) {
		t.Errorf("got %+v", list)
	}
	if one, err := w.Draft(t.Context(), strings.ToLower(ratecard.ID(first.ID))); err != nil ||
		one.ID != first.ID || one.Edits != 2 {
		t.Errorf("got %+v (%v)", one, err)
	}
	for _, ref := range []string{"", "1", first.ID.String(), ratecard.ID(uuid.New())} {
		_, err := w.Draft(t.Context(), ref)
		rejected(t, err, apperr.NotFound, "draft")
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	var cards []pricingrules.Card
	for n := range int64(5) {
		cards = append(cards, everywhere(1000+n))
	}
	w := newRateCards(t, cards...)
	w.draft(t)
	numbers := func(before, size int) (string, bool) {
		list, more, err := w.Versions(t.Context(), before, size)
		must(t, err)
		var got []int
		for _, listed := range list {
			got = append(got, listed.Version)
		}
		return fmt.Sprint(got), more
	}
	for _, c := range []struct {
		before, size int
		want         string
		more         bool
	}{
		{0, 2, "[5 4]", true},
		{4, 2, "[3 2]", true},
		{2, 2, "[1]", false},
		{3, 2, "[2 1]", false},
		{0, 5, "[5 4 3 2 1]", false},
		{1, 5, "[]", false},
	} {
		if got, more := numbers(c.before, c.size); got != c.want || more != c.more {
			t.Errorf("%d before %d: got %s, more %t, want %s, more %t", c.size, c.before, got, more, c.want, c.more)
		}
	}
	if card, err := w.Version(t.Context(), 3); err != nil || card.Version != 3 || card.State != models.RateCardSuperseded {
		t.Errorf("got version 3 %+v (%v)", card, err)
	}
	if card, err := w.Current(t.Context()); err != nil || card.Version != 5 {
		t.Errorf("got current version %+v (%v)", card, err)
	}
	for _, n := range []int{0, 6, -1} {
		_, err := w.Version(t.Context(), n)
		rejected(t, err, apperr.NotFound, "version")
	}
}

// ExamineCard returns a card's problems and the positions of its rules.
func TestExamineCard(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000, pricingrules.Rule{Industry: "plumber", Country: "GB", Base: all(5)}))
	card := w.draft(t)
	must(t, w.DropRule(t.Context(), card.ID, card.RowVersion, 1))
	card = w.now(t, card.ID)
	compiled, err := w.ExamineCard(t.Context(), card)
	must(t, err)
	if len(compiled.Problems) == 0 || !slices.Equal(compiled.Positions, []int{2}) || compiled.RuleIndex(2) != 0 ||
		compiled.RuleIndex(1) != -1 {
		t.Errorf("got positions %v, problems %v", compiled.Positions, compiled.Problems)
	}
	if again, err := w.bob.ExamineCard(t.Context(), card); err != nil || again != compiled {
		t.Errorf("unchanged card: got a new result (%v), want the cached one", err)
	}
	must(t, w.PutRule(t.Context(), card.ID, card.RowVersion, 0, pricingrules.Rule{Base: all(7)}))
	next, err := w.ExamineCard(t.Context(), w.now(t, card.ID))
	must(t, err)
	if len(next.Problems) != 0 || len(next.Card.Rules) != 2 || len(compiled.Card.Rules) != 1 {
		t.Errorf("got %d rules after the change, problems %v", len(next.Card.Rules), next.Problems)
	}
	if again, err := w.node(t, w.DB, w.jobs).ExamineCard(t.Context(), w.now(t, card.ID)); err != nil ||
		len(again.Card.Rules) != 2 {
		t.Errorf("another node: got error %v or an old card", err)
	}
	_, err = w.ExamineCard(t.Context(), models.RateCard{ID: uuid.New()})
	if f := apperr.As(err); f == nil || f.Code != apperr.NotFound {
		t.Errorf("unknown card: got error %v", err)
	}
}
