package ratecard_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
)

// result returns the result of a completed replay.
func (w *rateCards) result(t *testing.T, card, replay uuid.UUID) *ratecard.ReplayResult {
	t.Helper()
	r, found, err := w.LastReplay(t.Context(), card)
	must(t, err)
	if !found || r.ID != replay || r.State != models.JobDone || r.Done != r.Days {
		t.Fatalf("got replay %+v, want it done", r)
	}
	result, err := ratecard.ReadReplay(r.RateCardReplay)
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

// runReplay runs the draft's replay.
func (w *rateCards) runReplay(t *testing.T, card uuid.UUID) error {
	return w.jobs.RunNow(t.Context(), audit.Service, models.JobReplay, card, uuid.Nil)
}

// replayAsync runs the draft's replay in the background.
func (w *rateCards) replayAsync(t *testing.T, card uuid.UUID) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- w.runReplay(t, card) }()
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
	if _, found, err := w.LastReplay(t.Context(), card.ID); err != nil || found {
		t.Errorf("before the first request: LastReplay found %t (%v), want false", found, err)
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
	must(t, w.runReplay(t, card.ID))
	if result := w.result(t, card.ID, second.ID); len(result.Total) != 1 ||
		result.Total[0].Pings != (ratecard.ReplayTotals{Count: 1, Then: 1, ThenMinor: 1000, Now: 1, NowMinor: 2000}) {
		t.Errorf("got totals %+v", result.Total)
	}
}

// The number of waiting replays is limited.
func TestWaitingReplaysAreLimited(t *testing.T) {
	t.Parallel()
	w, _ := newReplay(t)
	var cards []models.RateCard
	for range 20 {
		card := w.draft(t)
		cards = append(cards, card)
		if _, err := w.RequestReplay(t.Context(), card, 1); err != nil {
			t.Fatal(err)
		}
	}
	_, err := w.RequestReplay(t.Context(), w.draft(t), 1)
	rejected(t, err, apperr.Conflict, "replays", "20 replays are waiting or running")
	if _, err := w.RequestReplay(t.Context(), cards[7], 1); err != nil {
		t.Errorf("requesting a waiting replay again: got error %v", err)
	}
	must(t, w.runReplay(t, cards[3].ID))
	if _, err := w.RequestReplay(t.Context(), w.draft(t), 1); err != nil {
		t.Errorf("after a replay has ended: got error %v", err)
	}
}

// A running replay reports its progress, and no other process runs it at the same time.
func TestRunningReplay(t *testing.T) {
	t.Parallel()
	w, card := newReplay(t)
	w.jobs = testkit.NewQueue(w.DB, w.clock)
	w.node(t, w.DB, w.jobs).DayByDay()
	r, err := w.RequestReplay(t.Context(), card, 3)
	must(t, err)
	unlock := w.lockPings(t, "20260102")
	ended := w.replayAsync(t, card.ID)
	w.waiting(t, 1)
	testkit.Eventually(t, time.Minute, "the progress is saved", func() bool {
		got, _, err := w.LastReplay(t.Context(), card.ID)
		return err == nil && got.State == models.JobRunning && got.Done == 2 && got.Days == 3 && got.Result == nil
	})
	if err := w.runReplay(t, card.ID); !errors.Is(err, jobs.ErrRunning) {
		t.Errorf("another process: got error %v", err)
	}
	unlock()
	must(t, <-ended)
	w.result(t, card.ID, r.ID)
}

// A new request replaces a running replay and discards its result.
func TestRequestReplayReplacesRunningReplay(t *testing.T) {
	t.Parallel()
	w, card := newReplay(t)
	_, err := w.RequestReplay(t.Context(), card, 2)
	must(t, err)
	unlock := w.lockPings(t, "20260102")
	ended := w.replayAsync(t, card.ID)
	w.waiting(t, 1)
	second, err := w.bob.RequestReplay(t.Context(), card, 1)
	must(t, err)
	unlock()
	if err := <-ended; !errors.Is(err, jobs.ErrSuperseded) {
		t.Errorf("first replay: got error %v", err)
	}
	if r, _, err := w.LastReplay(t.Context(), card.ID); err != nil || r.ID != second.ID ||
		r.State != models.JobWaiting || r.Done != 0 {
		t.Errorf("second replay: got %+v (%v)", r, err)
	}
	must(t, w.runReplay(t, card.ID))
	w.result(t, card.ID, second.ID)
}

// Two users request a replay of a draft at the same time. One of them gets it.
func TestConcurrentReplayRequests(t *testing.T) {
	t.Parallel()
	w, card := newReplay(t)
	errs := make(chan error)
	for _, s := range []*ratecard.Service{w.Service, w.bob} {
		go func() {
			_, err := s.RequestReplay(t.Context(), card, 1)
			errs <- err
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			rejected(t, err, apperr.Conflict, "replay_started", "Reload the page")
		}
	}
	if n := testkit.Value[string](t, w.Database, `SELECT (SELECT count(*) FROM rate_card_replays) || ' ' ||
			count(*) FROM jobs WHERE state = 'waiting'`); n != "1 1" {
		t.Errorf("got %s replays and waiting jobs, want 1 1", n)
	}
}

// If a draft cannot be compiled, its replay fails.
func TestReplayFails(t *testing.T) {
	t.Parallel()
	w, card := newReplay(t)
	w.Exec(t,
		`INSERT INTO pricing_rules (rate_card_id, position, industry, base) VALUES ($1, 2, 'plumber', '{"CHF": 5}')`,
		card.ID)
	_, err := w.RequestReplay(t.Context(), card, 1)
	must(t, err)
	if err := w.runReplay(t, card.ID); err == nil {
		t.Error("got no error")
	}
	if r, _, err := w.LastReplay(t.Context(), card.ID); err != nil || r.State != models.JobWaiting || r.Result != nil {
		t.Errorf("got replay %+v (%v), want one that a node tries again", r, err)
	}
}
