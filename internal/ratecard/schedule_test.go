package ratecard_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
)

// scheduled returns a draft that is scheduled for publication in an hour.
func (w *rateCards) scheduled(t *testing.T) models.RateCard {
	t.Helper()
	card := w.changed(t, 2000)
	now, err := w.Publish(t.Context(), card.ID, card.RowVersion, "Tomorrow's", w.clock.Now().Add(time.Hour))
	must(t, err)
	if now.State != models.RateCardScheduled || now.Version != 0 || !now.EffectiveAt.Equal(w.clock.Now().Add(time.Hour)) {
		t.Fatalf("got draft %+v, want it scheduled in an hour", now)
	}
	return now
}

// due checks whether ReleaseDue changes a draft.
func (w *rateCards) due(t *testing.T, want bool) {
	t.Helper()
	if did, err := w.ReleaseDue(t.Context()); err != nil || did != want {
		t.Errorf("ReleaseDue = %t (%v), want %t", did, err, want)
	}
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	card := w.changed(t, 2000)
	for _, at := range []time.Time{w.clock.Now(), w.clock.Now().Add(-time.Hour), w.clock.Now().Add(ratecard.MaxAhead + time.Second)} {
		_, err := w.Publish(t.Context(), card.ID, card.RowVersion, "When?", at)
		rejected(t, err, apperr.Invalid, "at")
	}
	w.due(t, false) // nothing is scheduled
	must(t, w.Discard(t.Context(), card.ID, card.RowVersion))

	number := w.snapshotNumber(t)
	card = w.scheduled(t)
	w.due(t, false)
	w.clock.Advance(time.Hour - time.Microsecond)
	w.due(t, false)
	if after := w.snapshotNumber(t); after != number || w.now(t, card.ID).State != models.RateCardScheduled {
		t.Error("the draft was published before its time")
	}
	w.clock.Advance(time.Microsecond)
	w.due(t, true)
	now := w.now(t, card.ID)
	if now.State != models.RateCardPublished || now.Version != 2 || now.Note != "Tomorrow's" ||
		now.Submitter != ann.Name || !now.EffectiveAt.Equal(w.clock.Now()) {
		t.Errorf("got published card %+v", now)
	}
	w.due(t, false)
	w.audited(t, card.ID, "ann@example.com pricing.create", "ann@example.com pricing.edit",
		"ann@example.com pricing.schedule", "ann@example.com pricing.publish")
}

// While a draft is scheduled, nothing else can be published or scheduled.
func TestScheduledDraftBlocksPublishing(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	other, card := w.changed(t, 3000), w.scheduled(t)
	for _, at := range []time.Time{at0, w.clock.Now().Add(time.Minute)} {
		_, err := w.bob.Publish(t.Context(), other.ID, other.RowVersion, "Mine first", at)
		rejected(t, err, apperr.Conflict, "scheduled", "ann@example.com")
	}
	must(t, w.SetBase(t.Context(), other.ID, plumbers, 0, 5)) // other drafts can still be edited
	rejected(t, w.SetBase(t.Context(), card.ID, plumbers, 0, 5), apperr.Conflict, "state")
	must(t, w.bob.Withdraw(t.Context(), card.ID, card.RowVersion))
	if now := w.now(t, card.ID); now.State != models.RateCardDraft || now.EffectiveAt != nil || now.Submitter != "" {
		t.Errorf("got withdrawn draft %+v", now)
	}
	if now, err := w.bob.Publish(t.Context(), other.ID, other.RowVersion+1, "Mine first", at0); err != nil || now.Version != 2 {
		t.Errorf("got version %d (%v), want 2", now.Version, err)
	}
	w.clock.Advance(2 * time.Hour)
	w.due(t, false)
}

// An approved draft is scheduled. If its time has passed, it is published immediately.
func TestApproveScheduledDraft(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	two := w.WithPolicy(ratecard.Policy{RequireApproval: true})
	for _, late := range []bool{false, true} {
		card := w.changed(t, 2000+w.clock.Now().Unix()%1000)
		at := w.clock.Now().Add(time.Hour)
		sent, err := two.Publish(t.Context(), card.ID, card.RowVersion, "A note", at)
		must(t, err)
		if sent.State != models.RateCardSubmitted || !sent.EffectiveAt.Equal(at) {
			t.Errorf("got submitted draft %+v", sent)
		}
		want := models.RateCardScheduled
		if late {
			w.clock.Advance(2 * time.Hour)
			want = models.RateCardPublished
		}
		now, err := w.bob.Approve(t.Context(), card.ID, sent.RowVersion)
		must(t, err)
		if now.State != want || now.Approver != bob.Name || (!late && !now.EffectiveAt.Equal(at)) ||
			(late && !now.EffectiveAt.Equal(w.clock.Now())) {
			t.Errorf("got approved draft %+v", now)
		}
		w.clock.Advance(time.Hour + time.Second)
		w.due(t, !late)
	}
	if card, err := w.Current(t.Context()); err != nil || card.Version != 3 {
		t.Errorf("got current version %+v (%v)", card, err)
	}
}

func TestOneNodeReleasesDraft(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	card := w.scheduled(t)
	w.clock.Advance(2 * time.Hour)
	var released atomic.Int64
	var all sync.WaitGroup
	for range 3 {
		node := w.node(t, testkit.Open(t, w.AppURL), w.jobs)
		all.Go(func() {
			did, err := node.ReleaseDue(t.Context())
			if err != nil {
				t.Error(err)
			}
			if did {
				released.Add(1)
			}
		})
	}
	all.Wait()
	if n := released.Load(); n != 1 {
		t.Errorf("got %d nodes that published the draft, want 1", n)
	}
	if now := w.now(t, card.ID); now.Version != 2 {
		t.Errorf("got version %d, want 2", now.Version)
	}
	if n := testkit.Value[int](t, w.Database, `SELECT count(*) FROM audit_events WHERE action = 'pricing.publish'`); n != 1 {
		t.Errorf("got %d audit events, want 1", n)
	}
}

// A scheduled draft that can no longer be published becomes a draft again, with an audit event.
func TestReleaseReopensUnpublishableDraft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sql, reason string }{
		"newer version": {`UPDATE rate_cards SET version = 7, note = 'in between' WHERE version = 1`, "in between"},
		"gap":           {`UPDATE pricing_rules SET base = '{"GBP": 5}' WHERE rate_card_id = (SELECT id FROM rate_cards WHERE state = 'scheduled')`, "EUR"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRateCards(t, everywhere(1000))
			card := w.scheduled(t)
			number := w.snapshotNumber(t)
			w.Exec(t, `SET session_replication_role = replica; `+c.sql)
			w.clock.Advance(time.Hour)
			w.due(t, true)
			now := w.now(t, card.ID)
			if now.State != models.RateCardDraft || now.EffectiveAt != nil || now.Submitter != "" || now.Version != 0 {
				t.Errorf("got %+v, want a draft", now)
			}
			const why = `SELECT reason FROM audit_events WHERE action = 'pricing.withdraw' AND actor = 'ann@example.com' AND object_id = $1`
			if got := testkit.Value[string](t, w.Database, why, ratecard.ID(card.ID)); !strings.Contains(got, c.reason) {
				t.Errorf("got reason %q, want it to contain %q", got, c.reason)
			}
			if after := w.snapshotNumber(t); after != number {
				t.Error("the snapshot number changed")
			}
			w.due(t, false)
		})
	}
}

// If a draft is withdrawn while ReleaseDue waits for it, the draft is not published and there is no error.
func TestWithdrawDuringRelease(t *testing.T) {
	t.Parallel()
	w := newRateCards(t, everywhere(1000))
	card := w.scheduled(t)
	w.clock.Advance(time.Hour)
	conn := testkit.Connect(t, w.AppURL)
	for _, sql := range []string{`BEGIN`, `UPDATE rate_cards SET state = 'draft', effective_at = NULL, row_version = row_version + 1 WHERE state = 'scheduled'`} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	type outcome struct {
		did bool
		err error
	}
	ended := make(chan outcome, 1)
	go func() {
		did, err := w.ReleaseDue(t.Context())
		ended <- outcome{did, err}
	}()
	testkit.Eventually(t, time.Minute, "the release waits", func() bool {
		return testkit.Value[bool](t, w.Database,
			`SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`)
	})
	if _, err := conn.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got.did || got.err != nil {
		t.Errorf("ReleaseDue = %t (%v), want false", got.did, got.err)
	}
	if now := w.now(t, card.ID); now.State != models.RateCardDraft {
		t.Errorf("got state %s, want draft", now.State)
	}
}
