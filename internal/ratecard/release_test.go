package ratecard_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

var at0 time.Time // publishes immediately

// changed returns a draft with a new base price for every cell.
func (w *rateCards) changed(t *testing.T, minor int64) models.RateCard {
	t.Helper()
	card := w.draft(t)
	must(t, w.PutRule(t.Context(), card.ID, card.RowVersion, 1, everywhere(minor).Rules[0]))
	return w.now(t, card.ID)
}

func TestPublish(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	card := w.changed(t, 2000)
	before := w.snapshotNumber(t)
	for note, reason := range map[string]string{
		"":                       "note",
		" \t":                    "note",
		"two\nlines":             "text",
		strings.Repeat("x", 201): "text",
	} {
		_, err := w.bob.Publish(t.Context(), card.ID, card.RowVersion, note, at0)
		rejected(t, err, apperr.Invalid, reason)
		if f := apperr.As(err); f != nil && (len(f.Fields) != 1 || f.Fields[0].Path[0] != "note") {
			t.Errorf("note %q: got fields %+v", note, f.Fields)
		}
	}
	_, err := w.Publish(t.Context(), card.ID, card.RowVersion-1, "Too late", at0)
	rejected(t, err, apperr.Conflict, "changed")
	_, err = w.Publish(t.Context(), uuid.New(), 1, "Which?", at0)
	rejected(t, err, apperr.NotFound, "draft")
	if after := w.snapshotNumber(t); after != before {
		t.Error("rejected requests changed the snapshot number")
	}

	w.clock.Advance(time.Hour)
	now, err := w.bob.Publish(t.Context(), card.ID, card.RowVersion, " Dearer ", at0)
	must(t, err)
	if now.Version != 2 || now.State != models.RateCardPublished || now.Note != "Dearer" ||
		now.Author != ann.Name || now.Submitter != bob.Name || now.Approver != "" || !now.EffectiveAt.Equal(w.clock.Now()) {
		t.Errorf("got published card %+v", now)
	}
	if old, err := w.Version(t.Context(), 1); err != nil || old.State != models.RateCardSuperseded {
		t.Errorf("got version 1 in state %s (%v)", old.State, err)
	}
	if after := w.snapshotNumber(t); after == before {
		t.Error("the snapshot number did not change")
	}
	if snapshot, err := w.LoadCurrent(t.Context()); err != nil || snapshot.Version != 2 ||
		snapshot.Table.Price(0, 0, 0).Minor != 2000 {
		t.Errorf("got current version %+v (%v)", snapshot, err)
	}
	_, err = w.Publish(t.Context(), card.ID, now.RowVersion, "Again", at0)
	rejected(t, err, apperr.Conflict, "state", "2")
	rejected(t, w.Withdraw(t.Context(), card.ID, now.RowVersion), apperr.Conflict, "state")
	w.audited(t, card.ID, "ann@example.com pricing.create", "ann@example.com pricing.edit",
		"bob@example.com pricing.publish")
	if got := testkit.Value[string](t, w.Database, `SELECT before::text || after::text FROM audit_events WHERE action = 'pricing.publish'`); got != `{"version":1}{"note":"Dearer","version":2}` {
		t.Errorf("got audit event %s", got)
	}
}

// If a draft cannot be published, the error describes the problem, and the draft does not change.
func TestPublishRejectsInvalidCard(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000, times(12_000, "plumber")))
	for name, c := range map[string]struct {
		sql   string
		names []string
	}{
		"no change":          {`SELECT $1::uuid`, nil},
		"only another order": {`UPDATE pricing_rules SET position = 3 - position + 10 WHERE rate_card_id = $1`, nil},
		"gap": {
			`UPDATE pricing_rules SET base = base - 'EUR' WHERE rate_card_id = $1 AND position = 1`,
			[]string{"EUR", "FR, BE, DE, AT"},
		},
		"conflicting rules": {
			`INSERT INTO pricing_rules (rate_card_id, position, industry, multiplier) VALUES ($1, 9, 'plumber', 5)`,
			[]string{"industry: plumber"},
		},
		"removed industry": {
			`INSERT INTO pricing_rules (rate_card_id, position, industry, multiplier) VALUES ($1, 9, 'blacksmith', 5)`,
			[]string{`"blacksmith"`},
		},
		"price of 0": {
			`UPDATE pricing_rules SET multiplier = 1 WHERE rate_card_id = $1 AND position = 2`, []string{"plumber"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			card := w.draft(t)
			w.Exec(t, c.sql, card.ID)
			_, err := w.Publish(t.Context(), card.ID, card.RowVersion, "A note", at0)
			reason := "rules"
			if c.names == nil {
				reason = "nothing"
			}
			rejected(t, err, apperr.Invalid, reason, c.names...)
			if now := w.now(t, card.ID); now.State != models.RateCardDraft || now.Note != "" ||
				now.RowVersion != card.RowVersion {
				t.Errorf("the draft changed to %+v", now)
			}
			w.audited(t, card.ID, "ann@example.com pricing.create")
		})
	}
}

// If a card has many problems, the error lists only some of them.
func TestPublishLimitsProblemsInError(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	card := w.draft(t)
	w.Exec(t,
		`INSERT INTO pricing_rules (rate_card_id, position, industry, multiplier) SELECT $1, 10 + n, 'trade-' || n, 5 FROM generate_series(1, 25) n`,
		card.ID)
	_, err := w.Publish(t.Context(), card.ID, card.RowVersion, "A note", at0)
	rejected(t, err, apperr.Invalid, "rules", "trade-20", "And 5 more.")
	if f := apperr.As(err); f != nil && strings.Contains(f.Message, "trade-21") {
		t.Errorf("got message %s", f.Message)
	}
}

// If two drafts are based on the same version, publishing the second one returns a conflict and
// changes nothing.
func TestPublishSuperseded(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	mine, theirs := w.changed(t, 2000), w.changed(t, 3000)
	if _, err := w.bob.Publish(t.Context(), theirs.ID, theirs.RowVersion, "Bob's reason.", at0); err != nil {
		t.Fatal(err)
	}
	_, err := w.Publish(t.Context(), mine.ID, mine.RowVersion, "Mine", at0)
	// Ann created the other draft, but Bob published it.
	rejected(t, err, apperr.Conflict, "superseded", "bob@example.com", "(Bob's reason)")
	if now := w.now(t, mine.ID); now.State != models.RateCardDraft || now.Note != "" {
		t.Errorf("the draft changed to %+v", now)
	}
	if _, err := w.Update(t.Context(), mine.ID, mine.RowVersion); err != nil {
		t.Fatal(err)
	}
	// Both drafts changed the same rule, so the published rule wins, and there is nothing left to publish.
	_, err = w.Publish(t.Context(), mine.ID, w.now(t, mine.ID).RowVersion, "Mine", at0)
	rejected(t, err, apperr.Invalid, "nothing")
	must(t, w.PutRule(t.Context(), mine.ID, w.now(t, mine.ID).RowVersion, 0, times(12_000, "plumber")))
	if now, err := w.Publish(t.Context(), mine.ID, w.now(t, mine.ID).RowVersion, "Mine", at0); err != nil ||
		now.Version != 3 {
		t.Errorf("got version %d after the update (%v)", now.Version, err)
	}
}

// If two nodes publish different drafts at the same time, one draft becomes the next version. The
// error for the other draft contains the publisher and note of that version.
func TestConcurrentPublish(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	cards := []models.RateCard{w.changed(t, 2000), w.changed(t, 3000)}
	nodes := []*ratecard.Service{
		w.node(t, testkit.Open(t, w.AppURL), w.jobs).By(ann), w.node(t, testkit.Open(t, w.AppURL), w.jobs).By(bob),
	}
	names, notes := []string{ann.Name, bob.Name}, []string{"the first note", "the second note"}
	errs := make([]error, 2)
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() { _, errs[i] = node.Publish(t.Context(), cards[i].ID, cards[i].RowVersion, notes[i], at0) })
	}
	all.Wait()
	winner := 0
	if errs[0] != nil {
		winner = 1
	}
	loser := 1 - winner
	must(t, errs[winner])
	rejected(t, errs[loser], apperr.Conflict, "superseded", names[winner], "("+notes[winner]+")")
	if now := w.now(t, cards[winner].ID); now.Version != 2 || now.State != models.RateCardPublished {
		t.Errorf("got published draft %+v", now)
	}
	lost := w.now(t, cards[loser].ID)
	if lost.State != models.RateCardDraft || lost.Version != 0 || lost.Note != "" || lost.Submitter != "" ||
		lost.RowVersion != cards[loser].RowVersion || lost.BasedOn != 1 {
		t.Errorf("got rejected draft %+v", lost)
	}
	w.audited(t, cards[loser].ID, "ann@example.com pricing.create", "ann@example.com pricing.edit")
	if n := testkit.Value[int](t, w.Database, `SELECT count(*) FROM rate_cards WHERE state = 'published'`); n != 1 {
		t.Errorf("got %d current versions, want 1", n)
	}
}

// If the policy requires approval, another user must approve a submitted draft.
func TestSecondPersonApproves(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	two := ratecard.Policy{RequireApproval: true}
	anns, bobs := w.WithPolicy(two), w.bob.WithPolicy(two)
	if !anns.RequireApproval() || w.RequireApproval() {
		t.Error("WithPolicy changed the original service or did not set the policy")
	}
	card := w.changed(t, 2000)
	number := w.snapshotNumber(t)
	_, err := bobs.Approve(t.Context(), card.ID, card.RowVersion)
	rejected(t, err, apperr.Conflict, "state")
	sent, err := anns.Publish(t.Context(), card.ID, card.RowVersion, "Dearer", at0)
	must(t, err)
	if sent.State != models.RateCardSubmitted || sent.Submitter != ann.Name || sent.Note != "Dearer" || sent.Version != 0 {
		t.Errorf("got submitted draft %+v", sent)
	}
	rejected(t, anns.PutRule(t.Context(), card.ID, sent.RowVersion, 0, times(5, "plumber")), apperr.Conflict, "state")
	rejected(t, anns.Rename(t.Context(), card.ID, sent.RowVersion, "x"), apperr.Conflict, "state")
	_, err = anns.Approve(t.Context(), card.ID, sent.RowVersion)
	rejected(t, err, apperr.Forbidden, "same_person")
	renamed := audit.Actor{Staff: w.annActor.Staff, Name: "ann.new@example.com"}
	for name, actor := range map[string]audit.Actor{"the submitter with a new email address": renamed, "the command line": audit.Operator} {
		if _, err := anns.By(actor).Approve(t.Context(), card.ID, sent.RowVersion); apperr.As(err) == nil ||
			apperr.As(err).Reason != "same_person" {
			t.Errorf("%s: got %v, want same_person", name, err)
		}
	}
	_, err = bobs.Approve(t.Context(), card.ID, card.RowVersion)
	rejected(t, err, apperr.Conflict, "changed")

	must(t, anns.Withdraw(t.Context(), card.ID, sent.RowVersion))
	back := w.now(t, card.ID)
	if back.State != models.RateCardDraft || back.Submitter != "" || back.EffectiveAt != nil {
		t.Errorf("got withdrawn draft %+v", back)
	}
	_, err = bobs.Approve(t.Context(), card.ID, back.RowVersion)
	rejected(t, err, apperr.Conflict, "state")
	must(t, anns.PutRule(t.Context(), card.ID, back.RowVersion, 0, times(12_000, "plumber")))
	if after := w.snapshotNumber(t); after != number {
		t.Errorf("got snapshot number %d, want %d", after, number)
	}
	sent, err = anns.Publish(t.Context(), card.ID, back.RowVersion+1, "Dearer", at0)
	must(t, err)
	now, err := bobs.Approve(t.Context(), card.ID, sent.RowVersion)
	must(t, err)
	if now.State != models.RateCardPublished || now.Version != 2 || now.Submitter != ann.Name ||
		now.Approver != bob.Name || now.Note != "Dearer" {
		t.Errorf("got approved draft %+v", now)
	}
	w.audited(t, card.ID, "ann@example.com pricing.create", "ann@example.com pricing.edit", "ann@example.com pricing.submit", "ann@example.com pricing.withdraw",
		"ann@example.com pricing.edit", "ann@example.com pricing.submit", "bob@example.com pricing.publish")
	const last = `SELECT after::text FROM audit_events WHERE action = 'pricing.publish'`
	if got := testkit.Value[string](t, w.Database, last); got != `{"approver":"bob@example.com","note":"Dearer","submitter":"ann@example.com","version":2}` {
		t.Errorf("got audit event %s", got)
	}
}

// A submitted draft cannot be approved if a newer version has been published.
func TestApproveRejectsSupersededDraft(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	card := w.changed(t, 2000)
	sent, err := w.WithPolicy(ratecard.Policy{RequireApproval: true}).
		Publish(t.Context(), card.ID, card.RowVersion, "Dearer", at0)
	must(t, err)
	w.supersede(t, 2, everywhere(5, pricingrules.Rule{Urgency: "urgent", Multiplier: 20_000}))
	_, err = w.bob.Approve(t.Context(), card.ID, sent.RowVersion)
	rejected(t, err, apperr.Conflict, "superseded", "2")
	if now := w.now(t, card.ID); now.State != models.RateCardSubmitted {
		t.Errorf("got state %s, want submitted", now.State)
	}
	must(t, w.bob.Discard(t.Context(), card.ID, sent.RowVersion))
}
