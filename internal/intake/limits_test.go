package intake

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"runtime"
	"strconv"
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
	in.recentMatches.add(clientaddr.Group(known), testTime)
	for _, address := range []string{stranger, known} {
		if err := try(address); !errors.Is(err, signing.ErrSignature) {
			t.Errorf("%s with a free slot: %v", address, err)
		}
	}
	in.matchSlots.enter(t.Context())
	for range 2 { // the slot is released
		if err := try(stranger); !errors.Is(err, errTooMany) {
			t.Errorf("an unknown address without a free slot: %v", err)
		}
		if err := try(known); !errors.Is(err, signing.ErrSignature) {
			t.Errorf("a known address without a free slot: %v", err)
		}
	}
	in.reservedMatchSlots.enter(t.Context())
	if err := try(known); !errors.Is(err, errTooMany) {
		t.Errorf("a known address without a reserved slot: %v", err)
	}
	in.matchSlots.leave()
	if err := try(known); !errors.Is(err, signing.ErrSignature) {
		t.Errorf("a known address after a slot is released: %v", err)
	}
}

// A match that gets no slot in time is rejected with a Retry-After. It does not count as a failure
// for its address, because nothing was compared.
func TestMatchWithoutSlotIsRejected(t *testing.T) {
	t.Parallel()
	in := New(Deps{}, Settings{MatchFailures: 1})
	in.matchSlots = full(t)
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
	in := &Intake{unsignedStoreSlots: newAdmission(1, 0, time.Hour)}
	in.unsignedStoreSlots.enter(t.Context())
	_, err := in.newPost(PostRequest{}, &partners.Directory{}, testTime)
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
	in := &Intake{unsignedStoreSlots: full(t), storeSlots: full(t)}
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

var testTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestRateLimitPerKey(t *testing.T) {
	t.Parallel()
	now := testTime
	b := newRateLimiter[string](2, time.Minute)
	for range 2 {
		if ok, _ := b.allows("a", now); !ok {
			t.Fatal("limited before the limit was reached")
		}
		b.spend("a", now)
	}
	now = now.Add(20 * time.Second)
	for name, ask := range map[string]func(string, time.Time) (bool, time.Duration){"left": b.allows, "take": b.take} {
		if ok, wait := ask("a", now); ok || wait != 40*time.Second {
			t.Errorf("%s: got %t, %s; want the rest of the minute", name, ok, wait)
		}
	}
	if ok, _ := b.take("b", now); !ok {
		t.Error("requests of one key count for another")
	}
	now = now.Add(40*time.Second - 1)
	if ok, wait := b.allows("a", now); ok || wait != 1 {
		t.Errorf("left: got %t, %s; want the last nanosecond", ok, wait)
	}
	now = now.Add(1)
	for want := range 2 {
		if ok, _ := b.take("a", now); !ok {
			t.Errorf("request %d of the next minute was rejected", want)
		}
	}
	if ok, _ := b.take("a", now); ok {
		t.Error("got a third request with a limit of 2")
	}
}

func TestUnlimitedRate(t *testing.T) {
	t.Parallel()
	b := newRateLimiter[string](0, time.Minute)
	for range 10 {
		b.spend("a", testTime)
		if ok, _ := b.take("a", testTime); !ok {
			t.Fatal("rejected without a limit")
		}
	}
	if ok, _ := b.allows("a", testTime); !ok || len(b.spent) != 0 {
		t.Errorf("left: %t, with %d keys stored", ok, len(b.spent))
	}
}

// If the clock is set back, requests are still accepted, even before it has caught up.
func TestRateLimitWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	b := newRateLimiter[string](1, time.Minute)
	b.spend("a", testTime)
	if ok, _ := b.allows("a", testTime.Add(-time.Hour)); !ok {
		t.Error("rejected after the clock was set back")
	}
}

// The memory of a rateLimiter is limited, however many keys there are.
func TestRateLimiterLimitsMemory(t *testing.T) {
	t.Parallel()
	b := newRateLimiter[string](1, time.Minute)
	for i := range maxLimiterKeys + 2 {
		b.spend(strconv.Itoa(i), testTime)
	}
	if len(b.spent) != 1 {
		t.Errorf("got %d keys, want 1", len(b.spent))
	}
}

func numbered(i int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(i))
	return netip.AddrFrom4(b)
}

func TestRecentAddressesAreRememberedForAWindow(t *testing.T) {
	t.Parallel()
	var r recentAddresses
	now := testTime
	r.add(numbered(0), now)
	r.add(numbered(1), now.Add(recentWindow-1))
	for _, c := range []struct {
		after  time.Duration
		first  bool
		second bool
	}{
		{0, true, true}, {recentWindow, true, true}, {2*recentWindow - 1, true, true}, {2 * recentWindow, false, false},
	} {
		if first, second := r.has(numbered(0), now.Add(c.after)), r.has(numbered(1), now.Add(c.after)); first != c.first ||
			second != c.second {
			t.Errorf("after %s: got %t, %t", c.after, first, second)
		}
	}
	if r.has(numbered(2), now) {
		t.Error("has reports an address that was not added")
	}
}

func TestRecentAddressesAreLimited(t *testing.T) {
	t.Parallel()
	var r recentAddresses
	for i := range 5 * maxRecentAddresses {
		r.add(numbered(i), testTime)
		if !r.has(numbered(i), testTime) || !r.has(numbered(max(i-maxRecentAddresses+1, 0)), testTime) {
			t.Fatalf("%d: one of the last %d addresses was forgotten", i, maxRecentAddresses)
		}
	}
	if n := len(r.current) + len(r.before); n > 2*maxRecentAddresses {
		t.Errorf("got %d addresses", n)
	}
}
