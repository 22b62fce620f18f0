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

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
)

// result returns the result of a completed replay.
func (w *rateCards) result(t *testing.T, card, replay uuid.UUID) *ratecard.ReplayResult {
	t.Helper()
	r, found, err := w.Replay(t.Context(), card)
	must(t, err)
	if !found || r.ID != replay || r.State != models.ReplayDone || r.DaysDone != r.Days || r.EndedAt == nil {
		t.Fatalf("got replay %+v, want it done", r)
	}
	result, err := ratecard.ReadReplay(r)
	must(t, err)
	return result
}

// lockPings locks the partition with a day's pings until unlock is called.
func (w *rateCards) lockPings(t *testing.T, day string) (unlock func()) {
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

// waiting waits until the given number of connections are waiting for a lock on pings.
func (w *rateCards) waiting(t *testing.T, readers int) {
	t.Helper()
	testkit.Eventually(t, time.Minute, "the replay waits", func() bool {
		return testkit.Value[int](t, w.Database,
			`SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
				AND relation IN (SELECT oid FROM pg_class WHERE relname LIKE 'pings%')`) == readers
	})
}

type replayOutcome struct {
	did bool
	err error
}

// replayAsync runs the next replay in the background.
func replayAsync(t *testing.T, node *ratecard.Service) <-chan replayOutcome {
	ended := make(chan replayOutcome, 1)
	go func() {
		did, err := node.ReplayNext(t.Context())
		ended <- replayOutcome{did, err}
	}()
	return ended
}

// newReplay returns a draft and a database with two pings: one from yesterday and one from today.
func newReplay(t *testing.T) (*rateCards, models.RateCard) {
	t.Helper()
	w := newRateCards(t, everywhere(1000))
	card := w.changed(t, 2000)
	ping := recordedRow{
		term:     1001,
		country:  "GB",
		outcome:  "priced",
		minor:    1000,
		currency: "GBP",
		at:       w.clock.Now().Add(-time.Hour),
	}
	yesterday := ping
	yesterday.at = ping.at.AddDate(0, 0, -1)
	w.record(t, []recordedRow{ping, yesterday})
	return w, card
}

func TestRequestReplay(t *testing.T) {
	t.Parallel()
	w, card := newReplay(t)
	for _, days := range []int{0, -1, ratecard.MaxReplayDays + 1} {
		_, err := w.RequestReplay(t.Context(), card, days)
		rejected(t, err, apperr.Invalid, "days", "1 to 90 days")
	}
	if _, found, err := w.Replay(t.Context(), card.ID); err != nil || found {
		t.Errorf("before the first request: Replay found %t (%v), want false", found, err)
	}
	if did, err := w.ReplayNext(t.Context()); err != nil || did {
		t.Errorf("before the first request: ReplayNext = %t (%v), want false", did, err)
	}
	first, err := w.RequestReplay(t.Context(), card, 2)
	must(t, err)
	if !first.FirstDay.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) || first.Requester != ann.Name ||
		first.RowVersion != card.RowVersion {
		t.Errorf("got request %+v", first)
	}
	if _, err := ratecard.ReadReplay(first); apperr.As(err) == nil || apperr.As(err).Code != apperr.NotFound {
		t.Errorf("result of a waiting replay: got error %v, want not found", err)
	}
	w.clock.Advance(time.Second)
	second, err := w.bob.RequestReplay(t.Context(), card, 1)
	must(t, err)
	if n := testkit.Value[int](t, w.Database, `SELECT count(*) FROM rate_card_replays`); n != 1 {
		t.Errorf("got %d replays of one draft, want 1", n)
	}
	if did, err := w.ReplayNext(t.Context()); err != nil || !did {
		t.Fatalf("ReplayNext = %t (%v), want true", did, err)
	}
	if result := w.result(t, card.ID, second.ID); len(result.Total) != 1 ||
		result.Total[0].Pings != (ratecard.ReplayTotals{Count: 1, Then: 1, ThenMinor: 1000, Now: 1, NowMinor: 2000}) {
		t.Errorf("got totals %+v", result.Total)
	}
}

// Replays run in the order in which they were requested, and the number of waiting replays is
// limited.
func TestReplaysAreQueued(t *testing.T) {
	t.Parallel()
	w, _ := newReplay(t)
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
	rejected(t, err, apperr.Conflict, "replays", "20 replays are waiting or running")
	if _, err := w.RequestReplay(t.Context(), cards[7], 1); err != nil {
		t.Errorf("requesting a waiting replay again: got error %v", err)
	}
	for range 2 {
		if did, err := w.ReplayNext(t.Context()); err != nil || !did {
			t.Fatalf("ReplayNext = %t (%v), want true", did, err)
		}
	}
	for i, card := range cards {
		if r, _, err := w.Replay(t.Context(), card.ID); err != nil || (r.State == models.ReplayDone) != (i < 2) {
			t.Errorf("replay %d: got state %s (%v)", i, r.State, err)
		}
	}
}

func TestOneNodeRunsReplay(t *testing.T) {
	t.Parallel()
	w, card := newReplay(t)
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
		t.Errorf("got %d nodes that ran the replay, want 1", n)
	}
	if result := w.result(t, card.ID, r.ID); result.Total[0].Pings.Count != 2 {
		t.Errorf("got totals %+v", result.Total)
	}
}

// A running replay reports its progress.
func TestReplayReportsProgress(t *testing.T) {
	t.Parallel()
	w, card := newReplay(t)
	w.DayByDay()
	_, err := w.RequestReplay(t.Context(), card, 3)
	must(t, err)
	unlock := w.lockPings(t, "20260102")
	ended := replayAsync(t, w.Service)
	w.waiting(t, 1)
	r, _, err := w.Replay(t.Context(), card.ID)
	if err != nil || r.State != models.ReplayRunning || r.DaysDone != 2 || r.Days != 3 || r.SeenAt == nil ||
		!r.SeenAt.Equal(w.clock.Now()) || r.Result != nil {
		t.Errorf("got running replay %+v (%v)", r, err)
	}
	unlock()
	if got := <-ended; got.err != nil || !got.did {
		t.Errorf("got outcome %+v", got)
	}
	w.result(t, card.ID, r.ID)
}

// If a node does not report progress, another node takes over its replay.
func TestReplayIsTakenOver(t *testing.T) {
	t.Parallel()
	w, card := newReplay(t)
	r, err := w.RequestReplay(t.Context(), card, 2)
	must(t, err)
	slow, other := w.node(t, testkit.Open(t, w.AppURL)), w.node(t, testkit.Open(t, w.AppURL))
	unlock := w.lockPings(t, "20260102")
	first := replayAsync(t, slow)
	w.waiting(t, 1)
	w.clock.Advance(2 * time.Minute)
	if did, err := other.ReplayNext(t.Context()); err != nil || did {
		t.Errorf("before the lease expired: ReplayNext = %t (%v), want false", did, err)
	}
	w.clock.Advance(time.Microsecond)
	second := replayAsync(t, other)
	w.waiting(t, 2)
	unlock()
	if got := <-first; !got.did || apperr.As(got.err) == nil || apperr.As(got.err).Reason != "taken_over" {
		t.Errorf("slow node: got %+v", got)
	}
	if got := <-second; !got.did || got.err != nil {
		t.Errorf("other node: got %+v", got)
	}
	if result := w.result(t, card.ID, r.ID); result.Total[0].Pings.Count != 2 {
		t.Errorf("got totals %+v", result.Total)
	}
}

// A new request replaces a running replay and discards its result.
func TestRequestReplayReplacesRunningReplay(t *testing.T) {
	t.Parallel()
	w, card := newReplay(t)
	_, err := w.RequestReplay(t.Context(), card, 2)
	must(t, err)
	unlock := w.lockPings(t, "20260102")
	ended := replayAsync(t, w.Service)
	w.waiting(t, 1)
	second, err := w.bob.RequestReplay(t.Context(), card, 1)
	must(t, err)
	unlock()
	if got := <-ended; apperr.As(got.err) == nil || apperr.As(got.err).Reason != "taken_over" {
		t.Errorf("first replay: got %+v", got)
	}
	if r, _, err := w.Replay(t.Context(), card.ID); err != nil || r.ID != second.ID ||
		r.State != models.ReplayWaiting || r.DaysDone != 0 {
		t.Errorf("second replay: got %+v (%v)", r, err)
	}
	if got := <-replayAsync(t, w.Service); got.err != nil || !got.did {
		t.Errorf("got outcome %+v", got)
	}
	w.result(t, card.ID, second.ID)
}

// A replay that fails is not run again.
func TestReplayFails(t *testing.T) {
	t.Parallel()
	w, card := newReplay(t)
	w.Exec(t,
		`INSERT INTO pricing_rules (rate_card_id, position, industry, base) VALUES ($1, 2, 'plumber', '{"CHF": 5}')`,
		card.ID)
	_, err := w.RequestReplay(t.Context(), card, 1)
	must(t, err)
	if got := <-replayAsync(t, w.node(t, w.DB)); got.err == nil || !got.did {
		t.Errorf("got outcome %+v", got)
	}
	if r, _, err := w.Replay(t.Context(), card.ID); err != nil || r.State != models.ReplayFailed ||
		r.EndedAt == nil || r.Result != nil {
		t.Errorf("got replay %+v (%v)", r, err)
	}
	if did, err := w.ReplayNext(t.Context()); err != nil || did {
		t.Errorf("after a failure: ReplayNext = %t (%v), want false", did, err)
	}
	w.Close()
	if _, err := w.ReplayNext(t.Context()); err == nil || errors.Is(err, pgx.ErrNoRows) {
		t.Errorf("without a database: got error %v", err)
	}
}

// reject makes updates to replays fail with the given SQLSTATE if they match a condition.
func (w *rateCards) reject(t *testing.T, condition, sqlState string) {
	t.Helper()
	name := "reject_" + sqlState
	w.Exec(t,
		`CREATE FUNCTION `+name+`() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '`+sqlState+`'; END $$`)
	w.Exec(t,
		`CREATE TRIGGER `+name+` BEFORE UPDATE ON rate_card_replays FOR EACH ROW WHEN (`+condition+
			`) EXECUTE FUNCTION `+name+`()`)
}

func TestReplayFailsIfProgressCannotBeSaved(t *testing.T) {
	t.Parallel()
	w, card := newReplay(t)
	w.reject(t, `NEW.state = 'running' AND NEW.days_done > 0`, "ZZ001")
	_, err := w.RequestReplay(t.Context(), card, 1)
	must(t, err)
	unlock := w.lockPings(t, "20260102")
	ended := replayAsync(t, w.Service)
	w.waiting(t, 1)
	w.clock.Advance(time.Second)
	unlock()
	if got := <-ended; !got.did || got.err == nil || !strings.Contains(got.err.Error(), "ZZ001") {
		t.Errorf("got outcome %+v", got)
	}
	if r, _, err := w.Replay(t.Context(), card.ID); err != nil || r.State != models.ReplayFailed {
		t.Errorf("got replay %+v (%v)", r, err)
	}
}

func TestReplayReturnsErrorIfFailureCannotBeSaved(t *testing.T) {
	t.Parallel()
	w, card := newReplay(t)
	w.reject(t, `NEW.state = 'running' AND NEW.days_done > 0`, "ZZ001")
	w.reject(t, `NEW.state = 'failed'`, "ZZ002")
	_, err := w.RequestReplay(t.Context(), card, 1)
	must(t, err)
	did, err := w.ReplayNext(t.Context())
	if !did || err == nil || !strings.Contains(err.Error(), "ZZ001") || !strings.Contains(err.Error(), "ZZ002") {
		t.Errorf("got %t, %v", did, err)
	}
}
