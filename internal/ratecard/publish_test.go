package ratecard_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
)

func TestPublishShipped(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	s := service(t, d)
	for _, want := range []bool{true, false, false} {
		if published, err := s.PublishShipped(t.Context()); err != nil || published != want {
			t.Fatalf("PublishShipped = %t (%v), want %t", published, err, want)
		}
	}
	var card models.RateCard
	if err := d.Gorm.Take(&card).Error; err != nil {
		t.Fatal(err)
	}
	if card.Version != 1 || card.State != models.RateCardPublished || card.Author != "pingpost" || card.Note == "" ||
		!card.CreatedAt.Equal(testkit.StartTime()) || card.EffectiveAt == nil || !card.EffectiveAt.Equal(testkit.StartTime()) {
		t.Errorf("got published card %+v", card)
	}
	if n := testkit.Value[int](t, d, `SELECT count(*) FROM audit_events WHERE action = 'pricing.publish' AND actor = 'the service'`); n != 1 {
		t.Errorf("got %d audit events, want 1", n)
	}
	if n := testkit.Value[int](t, d, `SELECT count(*) FROM pricing_rules`); n != len(shippedCard(t).Rules) {
		t.Errorf("got %d rules, want %d", n, len(shippedCard(t).Rules))
	}
}

// The shipped card is not published if the database contains any rate card.
func TestPublishShippedRequiresEmptyDatabase(t *testing.T) {
	t.Parallel()
	for _, state := range []models.RateCardState{models.RateCardDraft, models.RateCardPublished, models.RateCardSuperseded} {
		d := testkit.NewDatabase(t)
		put(t, d, 7, state, everywhere(1000))
		if published, err := service(t, d).PublishShipped(t.Context()); err != nil || published {
			t.Errorf("with a card in state %s: PublishShipped = %t (%v), want false", state, published, err)
		}
		if n := testkit.Value[int](t, d, `SELECT count(*) FROM rate_cards`); n != 1 {
			t.Errorf("with a card in state %s: got %d cards, want 1", state, n)
		}
	}
}

// If several nodes start with a new database, one of them publishes the card and all of them load it.
func TestConcurrentNodesPublishShippedOnce(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabaseURLs(t)
	var published atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		db, c := testkit.Open(t, d.AppURL), clock.NewManual(testkit.StartTime())
		s, err := ratecard.NewService(db, testkit.NewQueue(db, c), c)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			did, err := s.PublishShipped(t.Context())
			if did {
				published.Add(1)
			}
			if err != nil {
				t.Error(err)
				return
			}
			if snapshot, err := s.LoadCurrent(t.Context()); err != nil || snapshot.Version != 1 {
				t.Errorf("got current version %+v (%v), want 1", snapshot, err)
			}
		})
	}
	all.Wait()
	if n := published.Load(); n != 1 {
		t.Errorf("got %d nodes that published, want 1", n)
	}
	if n := testkit.Value[int](t, d, `SELECT count(*) FROM pricing_rules`); n != len(shippedCard(t).Rules) {
		t.Errorf("got %d rules, want %d", n, len(shippedCard(t).Rules))
	}
}
