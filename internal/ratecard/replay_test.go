package ratecard_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// result reads that of a replay, which is done.
func (w *rateCards) result(t *testing.T, card, replay uuid.UUID) *ratecard.ReplayResult {
	t.Helper()
	r, found, err := w.Replay(t.Context(), card)
	must(t, err)
	if !found || r.ID != replay || r.State != models.ReplayDone || r.DaysDone != r.Days || r.EndedAt == nil {
		t.Fatalf("the replay is %+v", r)
	}
	result, err := ratecard.ReadReplay(r)
	must(t, err)
	return result
}

// held keeps a day's pings from being read until it is let go.
func (w *rateCards) held(t *testing.T, day string) (letGo func()) {
	t.Helper()
	conn := testkit.Connect(t, w.RootURL)
	for _, sql := range []string{`BEGIN`, `LOCK TABLE pings_` + day + ` IN ACCESS EXCLUSIVE MODE`} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		t.Helper()
		if _, err := conn.Exec(t.Context(), `COMMIT`); err != nil {
			t.Fatal(err)
		}
	}
}

// waiting waits until so many readers of pings wait for a lock.
func (w *rateCards) waiting(t *testing.T, readers int) {
	t.Helper()
	testkit.Eventually(t, 10*time.Second, "the replay waits", func() bool {
		return testkit.Value[int](t, w.Database,
			`SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted AND relation IN (SELECT oid FROM pg_class WHERE relname LIKE 'pings%')`) == readers
	})
}

type played struct {
	did bool
	err error
}

func play(t *testing.T, node *ratecard.Service) <-chan played {
	ended := make(chan played, 1)
	go func() {
		did, err := node.ReplayNext(t.Context())
		ended <- played{did, err}
	}()
	return ended
}

// replayed is a world with a draft and two pings, of yesterday and of today.
func replayed(t *testing.T) (*rateCards, models.RateCard) {
	t.Helper()
	w := newRateCards(t, everywhere(1000))
	card := w.changed(t, 2000)
	ping := passed{
		term:     1001,
		country:  "GB",
		outcome:  "priced",
		minor:    1000,
		currency: "GBP",
		at:       w.clock.Now().Add(-time.Hour),
	}
	yesterday := ping
	yesterday.at = ping.at.AddDate(0, 0, -1)
	w.record(t, []passed{ping, yesterday})
	return w, card
}

func TestRequestReplay(t *testing.T) {
	w, card := replayed(t)
	for _, days := range []int{0, -1, ratecard.MaxReplayDays + 1} {
		_, err := w.RequestReplay(t.Context(), card, days)
		rejected(t, err, apperr.Invalid, "days", "1 to 90 days")
	}
	if _, found, err := w.Replay(t.Context(), card.ID); err != nil || found {
		t.Errorf("before any was asked for: %t (%v)", found, err)
	}
	if did, err := w.ReplayNext(t.Context()); err != nil || did {
		t.Errorf("with none asked for: %t (%v)", did, err)
	}
	first, err := w.RequestReplay(t.Context(), card, 2)
	must(t, err)
	if !first.FirstDay.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) || first.Requester != ann.Name ||
		first.RowVersion != card.RowVersion {
		t.Errorf("asked for %+v", first)
	}
	if _, err := ratecard.ReadReplay(first); apperr.As(err) == nil || apperr.As(err).Code != apperr.NotFound {
		t.Errorf("it has a result already (%v)", err)
	}
	w.clock.Advance(time.Second)
	second, err := w.bob.RequestReplay(t.Context(), card, 1)
	must(t, err)
	if n := testkit.Value[int](t, w.Database, `SELECT count(*) FROM rate_card_replays`); n != 1 {
		t.Errorf("%d replays of one card are kept", n)
	}
	if did, err := w.ReplayNext(t.Context()); err != nil || !did {
		t.Fatalf("replayed %t (%v)", did, err)
	}
	if result := w.result(t, card.ID, second.ID); len(result.Total) != 1 ||
		result.Total[0].Pings != (ratecard.ReplayTotals{Count: 1, Then: 1, ThenMinor: 1000, Now: 1, NowMinor: 2000}) {
		t.Errorf("it came to %+v", result.Total)
	}
}

// What waits is done in its turn, and not without bound.
func TestOneReplayRunsAtATime(t *testing.T) {
	w, _ := replayed(t)
	var cards []models.RateCard
	for range 20 {
		card := w.draft(t)
		cards = append(cards, card)
		w.clock.Advance(time.Second)
		if _, err := w.RequestReplay(t.Context(), card, 1); err != nil {
			t.Fatal(err)
		}
	}
	_, err := w.RequestReplay(t.Context(), w.draft(t), 1)
	rejected(t, err, apperr.Conflict, "replays", "20 replays are under way")
	if _, err := w.RequestReplay(t.Context(), cards[7], 1); err != nil {
		t.Errorf("one that waits was not asked for anew: %v", err)
	}
	for range 2 {
		if did, err := w.ReplayNext(t.Context()); err != nil || !did {
			t.Fatalf("replayed %t (%v)", did, err)
		}
	}
	for i, card := range cards {
		if r, _, err := w.Replay(t.Context(), card.ID); err != nil || (r.State == models.ReplayDone) != (i < 2) {
			t.Errorf("replay %d is %s (%v)", i, r.State, err)
		}
	}
}

func TestNodesReplayOnce(t *testing.T) {
	w, card := replayed(t)
	r, err := w.RequestReplay(t.Context(), card, 2)
	must(t, err)
	var done atomic.Int64
	var all sync.WaitGroup
	for range 2 {
		node := w.node(t, testkit.Open(t, w.AppURL))
		all.Go(func() {
			did, err := node.ReplayNext(t.Context())
			if err != nil {
				t.Error(err)
			}
			if did {
				done.Add(1)
			}
		})
	}
	all.Wait()
	if n := done.Load(); n != 1 {
		t.Errorf("%d nodes did it", n)
	}
	if result := w.result(t, card.ID, r.ID); result.Total[0].Pings.Count != 2 {
		t.Errorf("it came to %+v", result.Total)
	}
}

// A page shows how far a replay is.
func TestReplayReportsProgress(t *testing.T) {
	w, card := replayed(t)
	w.DayByDay()
	_, err := w.RequestReplay(t.Context(), card, 3)
	must(t, err)
	letGo := w.held(t, "20260102")
	ended := play(t, w.Service)
	w.waiting(t, 1)
	r, _, err := w.Replay(t.Context(), card.ID)
	if err != nil || r.State != models.ReplayRunning || r.DaysDone != 2 || r.Days != 3 || r.SeenAt == nil ||
		!r.SeenAt.Equal(w.clock.Now()) || r.Result != nil {
		t.Errorf("under way it is %+v (%v)", r, err)
	}
	letGo()
	if got := <-ended; got.err != nil || !got.did {
		t.Errorf("%+v", got)
	}
	w.result(t, card.ID, r.ID)
}

// A node that says nothing of its replay for too long has lost it to another; it finds
// out, and stops.
func TestReplayIsTakenOver(t *testing.T) {
	w, card := replayed(t)
	r, err := w.RequestReplay(t.Context(), card, 2)
	must(t, err)
	slow, other := w.node(t, testkit.Open(t, w.AppURL)), w.node(t, testkit.Open(t, w.AppURL))
	letGo := w.held(t, "20260102")
	first := play(t, slow)
	w.waiting(t, 1)
	w.clock.Advance(2 * time.Minute)
	if did, err := other.ReplayNext(t.Context()); err != nil || did {
		t.Errorf("it was taken over within its lease: %t (%v)", did, err)
	}
	w.clock.Advance(time.Microsecond)
	second := play(t, other)
	w.waiting(t, 2)
	letGo()
	if got := <-first; !got.did || apperr.As(got.err) == nil || apperr.As(got.err).Reason != "taken_over" {
		t.Errorf("the slow node: %+v", got)
	}
	if got := <-second; !got.did || got.err != nil {
		t.Errorf("the other: %+v", got)
	}
	if result := w.result(t, card.ID, r.ID); result.Total[0].Pings.Count != 2 {
		t.Errorf("it came to %+v", result.Total)
	}
}

// Whoever asks anew does not get the result of what was asked for before.
func TestRequestReplayReplacesRunningReplay(t *testing.T) {
	w, card := replayed(t)
	_, err := w.RequestReplay(t.Context(), card, 2)
	must(t, err)
	letGo := w.held(t, "20260102")
	ended := play(t, w.Service)
	w.waiting(t, 1)
	anew, err := w.bob.RequestReplay(t.Context(), card, 1)
	must(t, err)
	letGo()
	if got := <-ended; apperr.As(got.err) == nil || apperr.As(got.err).Reason != "taken_over" {
		t.Errorf("the first: %+v", got)
	}
	if r, _, err := w.Replay(t.Context(), card.ID); err != nil || r.ID != anew.ID ||
		r.State != models.ReplayWaiting || r.DaysDone != 0 {
		t.Errorf("the second is %+v (%v)", r, err)
	}
	if got := <-play(t, w.Service); got.err != nil || !got.did {
		t.Errorf("%+v", got)
	}
	w.result(t, card.ID, anew.ID)
}

// What cannot be done has failed, and does not come up again.
func TestReplayFails(t *testing.T) {
	w, card := replayed(t)
	w.Exec(t,
		`INSERT INTO pricing_rules (rate_card_id, position, industry, base) VALUES ($1, 2, 'plumber', '{"CHF": 5}')`,
		card.ID)
	_, err := w.RequestReplay(t.Context(), card, 1)
	must(t, err)
	if got := <-play(t, w.node(t, w.DB)); got.err == nil || !got.did {
		t.Errorf("%+v", got)
	}
	if r, _, err := w.Replay(t.Context(), card.ID); err != nil || r.State != models.ReplayFailed ||
		r.EndedAt == nil || r.Result != nil {
		t.Errorf("it is %+v (%v)", r, err)
	}
	if did, err := w.ReplayNext(t.Context()); err != nil || did {
		t.Errorf("it came up again: %t (%v)", did, err)
	}
	w.Close()
	if _, err := w.ReplayNext(t.Context()); err == nil || errors.Is(err, pgx.ErrNoRows) {
		t.Errorf("without a database: %v", err)
	}
}

// reject makes the database fail updates of replays that meet a condition.
func (w *rateCards) reject(t *testing.T, condition, sqlState string) {
	t.Helper()
	name := "reject_" + sqlState
	w.Exec(t,
		`CREATE FUNCTION `+name+`() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '`+sqlState+`'; END $$`)
	w.Exec(t,
		`CREATE TRIGGER `+name+` BEFORE UPDATE ON rate_card_replays FOR EACH ROW WHEN (`+condition+
			`) EXECUTE FUNCTION `+name+`()`)
}

func TestReplayFailsWhenItsProgressCannotBeRecorded(t *testing.T) {
	w, card := replayed(t)
	w.reject(t, `NEW.state = 'running' AND NEW.days_done > 0`, "ZZ001")
	_, err := w.RequestReplay(t.Context(), card, 1)
	must(t, err)
	letGo := w.held(t, "20260102")
	ended := play(t, w.Service)
	w.waiting(t, 1)
	w.clock.Advance(time.Second)
	letGo()
	if got := <-ended; !got.did || got.err == nil || !strings.Contains(got.err.Error(), "ZZ001") {
		t.Errorf("%+v", got)
	}
	if r, _, err := w.Replay(t.Context(), card.ID); err != nil || r.State != models.ReplayFailed {
		t.Errorf("it is %+v (%v)", r, err)
	}
}

func TestReplayReturnsTheErrorOfRecordingItsFailure(t *testing.T) {
	w, card := replayed(t)
	w.reject(t, `NEW.state = 'running' AND NEW.days_done > 0`, "ZZ001")
	w.reject(t, `NEW.state = 'failed'`, "ZZ002")
	_, err := w.RequestReplay(t.Context(), card, 1)
	must(t, err)
	did, err := w.ReplayNext(t.Context())
	if !did || err == nil || !strings.Contains(err.Error(), "ZZ001") || !strings.Contains(err.Error(), "ZZ002") {
		t.Errorf("did %t, %v", did, err)
	}
}
