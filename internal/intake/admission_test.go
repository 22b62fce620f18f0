package intake

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clientaddr"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/signing"
)

func TestAdmissionLimitsConcurrency(t *testing.T) {
	t.Parallel()
	g := newAdmission(2, 64, time.Nanosecond)
	for range 2 {
		if !g.enter(t.Context()) {
			t.Fatal("rejected with a free slot")
		}
	}
	if g.enter(t.Context()) {
		t.Fatal("a third request entered with two slots")
	}
	g.leave()
	if !g.enter(t.Context()) {
		t.Fatal("rejected although a slot was released")
	}
}

func TestAdmissionWaitsForASlot(t *testing.T) {
	t.Parallel()
	g := newAdmission(1, 64, time.Hour)
	g.enter(t.Context())
	entered := make(chan bool)
	go func() { entered <- g.enter(t.Context()) }()
	g.leave()
	if !<-entered {
		t.Fatal("rejected although a slot was released in time")
	}
}

func TestAdmissionLimitsTheQueue(t *testing.T) {
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
		t.Fatal("entered a full admission")
	}
	cancel()
	waiting.Wait()
	if g.full() {
		t.Fatal("the queue is full without waiting requests")
	}
}

func TestAdmissionStopsWaitingWhenTheClientLeaves(t *testing.T) {
	t.Parallel()
	g := newAdmission(1, 64, time.Hour)
	g.enter(t.Context())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if g.enter(gone) {
		t.Fatal("entered a full admission")
	}
}

func TestUnlimitedAdmission(t *testing.T) {
	t.Parallel()
	g := newAdmission(0, 64, 0)
	for range 1000 {
		if !g.enter(t.Context()) {
			t.Fatal("rejected without a limit")
		}
	}
	g.leave()
}

func TestAdmissionNeverExceedsItsLimit(t *testing.T) {
	t.Parallel()
	const slots = 3
	g := newAdmission(slots, 64, time.Hour)
	var mu sync.Mutex
	var inside, most int
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			if !g.enter(t.Context()) {
				t.Error("rejected within the wait")
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
	if most > slots {
		t.Errorf("got %d concurrent requests with %d slots", most, slots)
	}
}

// full returns an admission without a free slot.
func full(t *testing.T) *admission {
	g := newAdmission(1, 64, time.Nanosecond)
	if !g.enter(t.Context()) {
		t.Fatal("an empty admission rejected a request")
	}
	return g
}

// An address that matched recently can use the reserved slot while other addresses use all the
// other slots.
func TestKnownAddressHasReservedMatchSlot(t *testing.T) {
	t.Parallel()
	const stranger, known = "192.0.2.1", "192.0.2.2"
	in := New(Deps{}, Settings{MatchConcurrency: 1, MatchWait: time.Nanosecond})
	try := func(address string) error {
		_, err := in.matchSecret(t.Context(), post{
			PostRequest: PostRequest{Address: clientaddr.Group(address)},
			directory:   &partners.Directory{},
			start:       testTime,
		})
		return err
	}
	in.matched.add(clientaddr.Group(known), testTime)
	for _, address := range []string{stranger, known} {
		if err := try(address); !errors.Is(err, signing.ErrSignature) {
			t.Errorf("%s with a free slot: %v", address, err)
		}
	}
	in.match.enter(t.Context())
	for range 2 { // the slot is released
		if err := try(stranger); !errors.Is(err, errTooMany) {
			t.Errorf("an unknown address without a free slot: %v", err)
		}
		if err := try(known); !errors.Is(err, signing.ErrSignature) {
			t.Errorf("a known address without a free slot: %v", err)
		}
	}
	in.matchReserved.enter(t.Context())
	if err := try(known); !errors.Is(err, errTooMany) {
		t.Errorf("a known address without a reserved slot: %v", err)
	}
	in.match.leave()
	if err := try(known); !errors.Is(err, signing.ErrSignature) {
		t.Errorf("a known address after a slot is released: %v", err)
	}
}

// A match that gets no slot in time is rejected with a Retry-After. It does not count as a failure
// for its address, because nothing was compared.
func TestMatchWithoutSlotIsRejected(t *testing.T) {
	t.Parallel()
	in := New(Deps{}, Settings{MatchFailures: 1})
	in.match = full(t)
	for range 2 {
		_, err := in.matchSecret(t.Context(), post{directory: &partners.Directory{}})
		if f := apperr.As(err); !errors.Is(err, errTooMany) || f.RetryAfter != retryAfter {
			t.Errorf("got error %v", err)
		}
	}
}

// If the queue is full, a post is rejected before it is parsed.
func TestFullQueueRejectsPostBeforeParsing(t *testing.T) {
	t.Parallel()
	in := &Intake{storingUnsigned: newAdmission(1, 0, time.Hour)}
	in.storingUnsigned.enter(t.Context())
	_, err := in.readPost(PostRequest{}, &partners.Directory{}, testTime)
	if f := apperr.As(err); !errors.Is(err, errNotStored) || f.RetryAfter != retryAfter {
		t.Errorf("got error %v", err)
	}
}

// Unsigned posts that use all of their own slots do not block signed posts.
func TestUnsignedPostsHaveTheirOwnSlots(t *testing.T) {
	t.Parallel()
	for places, unsigned := range map[int]int{0: 0, 1: 1, 256: 64} {
		in := New(Deps{}, Settings{PostConcurrency: places, PostWait: time.Nanosecond})
		for range unsigned {
			if !in.admission(signing.Claim{}).enter(t.Context()) {
				t.Fatalf("%d slots: an unsigned post was rejected", places)
			}
		}
		if in.admission(signing.Claim{}).enter(t.Context()) != (places == 0) {
			t.Errorf("%d slots: want %d for unsigned posts", places, unsigned)
		}
		for range places {
			if !in.admission(signing.Claim{Signed: true}).enter(t.Context()) {
				t.Fatalf("%d slots: a signed post was rejected", places)
			}
		}
	}
}

// Looking up a lead needs a slot too, so that posts that deliver nothing cannot overload the
// database.
func TestPostWithoutSlotIsRejected(t *testing.T) {
	t.Parallel()
	in := &Intake{storingUnsigned: full(t), storing: full(t)}
	_, delivering := in.deliver(t.Context(), authenticated{})
	_, finding := in.findReplay(t.Context(), authenticated{owner: owner{account: &partners.Account{}}}, errQuoteOwner)
	for _, err := range []error{delivering, finding} {
		if f := apperr.As(err); !errors.Is(err, errNotStored) || f.RetryAfter != retryAfter {
			t.Errorf("got error %v", err)
		}
	}
	signed := authenticated{owner: owner{
		account: &partners.Account{Partner: &partners.Partner{}},
		secret:  &partners.Secret{},
	}}
	if _, err := in.findReplay(t.Context(), signed, errExpired); !errors.Is(err, errExpired) {
		t.Errorf("expired quote: got error %v", err)
	}
}
