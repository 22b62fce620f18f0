package intake

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/fault"
	"github.com/pingpost/pingpost/internal/partners"
)

func TestGateLetsABoundedNumberThrough(t *testing.T) {
	g := newGate(2, time.Nanosecond)
	for range 2 {
		if !g.enter(t.Context()) {
			t.Fatal("two places, and one was refused")
		}
	}
	if g.enter(t.Context()) {
		t.Fatal("a third entered")
	}
	g.leave()
	if !g.enter(t.Context()) {
		t.Fatal("the place that was given free was refused")
	}
}

func TestGateWaitsForAPlace(t *testing.T) {
	g := newGate(1, time.Hour)
	g.enter(t.Context())
	entered := make(chan bool)
	go func() { entered <- g.enter(t.Context()) }()
	g.leave()
	if !<-entered {
		t.Fatal("refused although a place came free in time")
	}
}

func TestGateDoesNotOutwaitTheClient(t *testing.T) {
	g := newGate(1, time.Hour)
	g.enter(t.Context())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if g.enter(gone) {
		t.Fatal("entered a full gate")
	}
}

func TestGateWithoutABound(t *testing.T) {
	g := newGate(0, 0)
	for range 1000 {
		if !g.enter(t.Context()) {
			t.Fatal("refused without a bound")
		}
	}
	g.leave()
}

func TestGateNeverHoldsMore(t *testing.T) {
	const places = 3
	g := newGate(places, time.Hour)
	var mu sync.Mutex
	var inside, most int
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			if !g.enter(t.Context()) {
				t.Error("refused within the hour")
				return
			}
			defer g.leave()
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			mu.Lock()
			inside--
			mu.Unlock()
		})
	}
	wg.Wait()
	if most > places {
		t.Errorf("%d at once through %d places", most, places)
	}
}

func TestBudgetOfEachAddress(t *testing.T) {
	now := clock.NewManual(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	b := newBudget(2, time.Minute, now)
	for range 2 {
		if ok, _ := b.left("192.0.2.1"); !ok {
			t.Fatal("nothing left of 2 before they were spent")
		}
		b.spend("192.0.2.1")
	}
	now.Advance(20 * time.Second)
	if ok, wait := b.left("192.0.2.1"); ok || wait != 40*time.Second {
		t.Errorf("left: %t, for %s; want the rest of the minute", ok, wait)
	}
	if ok, _ := b.left("192.0.2.2"); !ok {
		t.Error("one address spends another's budget")
	}
	now.Advance(40*time.Second - 1)
	if ok, wait := b.left("192.0.2.1"); ok || wait != 1 {
		t.Errorf("left: %t, for %s; want the last nanosecond", ok, wait)
	}
	now.Advance(1)
	if ok, _ := b.left("192.0.2.1"); !ok {
		t.Error("the next minute begins without a budget")
	}
}

func TestBudgetWithoutABound(t *testing.T) {
	b := newBudget(0, time.Minute, clock.NewManual(time.Time{}))
	for range 10 {
		b.spend("192.0.2.1")
	}
	if ok, _ := b.left("192.0.2.1"); !ok || len(b.spent) != 0 {
		t.Errorf("left: %t, with %d addresses remembered", ok, len(b.spent))
	}
}

// The memory of a budget is bounded, whatever the number of addresses.
func TestBudgetForgets(t *testing.T) {
	b := newBudget(1, time.Minute, clock.NewManual(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
	for i := range budgetAddresses + 2 {
		b.spend(strconv.Itoa(i))
	}
	if len(b.spent) != 1 {
		t.Errorf("%d addresses are remembered, want the last alone", len(b.spent))
	}
}

// full is a gate without a place left.
func full(t *testing.T) *gate {
	g := newGate(1, time.Nanosecond)
	if !g.enter(t.Context()) {
		t.Fatal("an empty gate refused")
	}
	return g
}

// A match that finds no place in time is asked to come back; a failure is not
// counted against its address, because nothing was compared.
func TestNoPlaceToMatch(t *testing.T) {
	in := &Intake{match: full(t), failures: newBudget(1, time.Minute, clock.NewManual(time.Time{}))}
	for range 2 {
		err := in.matchSecret(t.Context(), &post{directory: &partners.Directory{}})
		if f := fault.As(err); !errors.Is(err, errTooMany) || f.RetryAfter != retryAfter {
			t.Errorf("refused with %v", err)
		}
	}
}

// What looks for a lead takes a place too: quotes that cost nothing must not
// crowd the database.
func TestNoPlaceToStore(t *testing.T) {
	in := &Intake{storing: full(t)}
	_, delivering := in.deliver(t.Context(), &post{})
	_, finding := in.findAgain(t.Context(), &post{}, errQuoteOwner)
	for _, err := range []error{delivering, finding} {
		if f := fault.As(err); !errors.Is(err, errStoring) || f.RetryAfter != retryAfter {
			t.Errorf("refused with %v", err)
		}
	}
}
