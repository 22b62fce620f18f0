package intake

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/clientaddr"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/signing"
)

func TestGateLetsABoundedNumberThrough(t *testing.T) {
	g := newAdmission(2, 64, time.Nanosecond)
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
	g := newAdmission(1, 64, time.Hour)
	g.enter(t.Context())
	entered := make(chan bool)
	go func() { entered <- g.enter(t.Context()) }()
	g.leave()
	if !<-entered {
		t.Fatal("refused although a place came free in time")
	}
}

func TestGateKeepsABoundedNumberWaiting(t *testing.T) {
	g := newAdmission(1, 2, time.Hour)
	g.enter(t.Context())
	gone, cancel := context.WithCancel(t.Context())
	defer cancel()
	var waiting sync.WaitGroup
	for range 2 {
		waiting.Go(func() { g.enter(gone) })
	}
	for !g.full() {
		runtime.Gosched()
	}
	if g.enter(t.Context()) {
		t.Fatal("entered a full gate")
	}
	cancel()
	waiting.Wait()
	if g.full() {
		t.Fatal("nobody waits, and the queue is full")
	}
}

func TestGateDoesNotOutwaitTheClient(t *testing.T) {
	g := newAdmission(1, 64, time.Hour)
	g.enter(t.Context())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if g.enter(gone) {
		t.Fatal("entered a full gate")
	}
}

func TestGateWithoutABound(t *testing.T) {
	g := newAdmission(0, 64, 0)
	for range 1000 {
		if !g.enter(t.Context()) {
			t.Fatal("refused without a bound")
		}
	}
	g.leave()
}

func TestGateNeverHoldsMore(t *testing.T) {
	const places = 3
	g := newAdmission(places, 64, time.Hour)
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

// full is a gate without a place left.
func full(t *testing.T) *admission {
	g := newAdmission(1, 64, time.Nanosecond)
	if !g.enter(t.Context()) {
		t.Fatal("an empty gate refused")
	}
	return g
}

// While strangers fill the gate of the match, an address that matched recently has
// a place reserved.
func TestReservedPlaceToMatch(t *testing.T) {
	const stranger, known = "192.0.2.1", "192.0.2.2"
	in := New(Deps{}, Settings{MatchConcurrency: 1, MatchWait: time.Nanosecond})
	try := func(address string) error {
		_, err := in.matchSecret(t.Context(), post{
			PostRequest: PostRequest{Address: clientaddr.Group(address)},
			directory:   &partners.Directory{},
			start:       budgetStart,
		})
		return err
	}
	in.matched.add(clientaddr.Group(known), budgetStart)
	for _, address := range []string{stranger, known} {
		if err := try(address); !errors.Is(err, signing.ErrSignature) {
			t.Errorf("%s with a free gate: %v", address, err)
		}
	}
	in.match.enter(t.Context())
	for range 2 { // the place is given back
		if err := try(stranger); !errors.Is(err, errTooMany) {
			t.Errorf("a stranger at the full gate: %v", err)
		}
		if err := try(known); !errors.Is(err, signing.ErrSignature) {
			t.Errorf("a known address at the full gate: %v", err)
		}
	}
	in.matchReserved.enter(t.Context())
	if err := try(known); !errors.Is(err, errTooMany) {
		t.Errorf("a known address without any place: %v", err)
	}
	in.match.leave()
	if err := try(known); !errors.Is(err, signing.ErrSignature) {
		t.Errorf("a known address once the gate is free: %v", err)
	}
}

// A match that finds no place in time is asked to come back; a failure is not
// counted against its address, because nothing was compared.
func TestNoPlaceToMatch(t *testing.T) {
	in := New(Deps{}, Settings{MatchFailures: 1})
	in.match = full(t)
	for range 2 {
		_, err := in.matchSecret(t.Context(), post{directory: &partners.Directory{}})
		if f := apperr.As(err); !errors.Is(err, errTooMany) || f.RetryAfter != retryAfter {
			t.Errorf("refused with %v", err)
		}
	}
}

// A post that could not even wait is refused before anything of it is looked at.
func TestNoPlaceToWait(t *testing.T) {
	in := &Intake{storingUnsigned: newAdmission(1, 0, time.Hour)}
	in.storingUnsigned.enter(t.Context())
	_, err := in.readPost(PostRequest{}, &partners.Directory{}, budgetStart)
	if f := apperr.As(err); !errors.Is(err, errNotStored) || f.RetryAfter != retryAfter {
		t.Errorf("refused with %v", err)
	}
}

// Unsigned posts that fill their gate leave the signed ones' free.
func TestUnsignedPostsHaveAGateOfTheirOwn(t *testing.T) {
	for places, unsigned := range map[int]int{0: 0, 1: 1, 256: 64} {
		in := New(Deps{}, Settings{PostConcurrency: places, PostWait: time.Nanosecond})
		for range unsigned {
			if !in.admission(signing.Claim{}).enter(t.Context()) {
				t.Fatalf("%d places: an unsigned post found none", places)
			}
		}
		if in.admission(signing.Claim{}).enter(t.Context()) != (places == 0) {
			t.Errorf("%d places: want %d for unsigned posts", places, unsigned)
		}
		for range places {
			if !in.admission(signing.Claim{Signed: true}).enter(t.Context()) {
				t.Fatalf("%d places: a signed post found none", places)
			}
		}
	}
}

// What looks for a lead takes a place too: quotes that cost nothing must not
// crowd the database.
func TestNoPlaceToStore(t *testing.T) {
	in := &Intake{storingUnsigned: full(t), storing: full(t)}
	_, delivering := in.deliver(t.Context(), authenticated{})
	_, finding := in.findReplay(t.Context(), authenticated{owner: owner{account: &partners.Account{}}}, errQuoteOwner)
	for _, err := range []error{delivering, finding} {
		if f := apperr.As(err); !errors.Is(err, errNotStored) || f.RetryAfter != retryAfter {
			t.Errorf("refused with %v", err)
		}
	}
	signed := authenticated{owner: owner{
		account: &partners.Account{Partner: &partners.Partner{}},
		secret:  &partners.Secret{},
	}}
	if _, err := in.findReplay(t.Context(), signed, errExpired); !errors.Is(err, errExpired) {
		t.Errorf("an expired quote: %v", err)
	}
}
