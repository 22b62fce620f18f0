package intake

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// admission limits the number of concurrent requests. Further requests wait in a queue of limited
// length, for a limited time. If the queue is full, requests are rejected immediately, because a longer
// queue would only delay all requests when the node is overloaded.
type admission struct {
	slots chan struct{} // nil if unlimited
	queue chan struct{}
	wait  time.Duration
}

func newAdmission(slots, queue int, wait time.Duration) *admission {
	g := &admission{queue: make(chan struct{}, queue), wait: wait}
	if slots > 0 {
		g.slots = make(chan struct{}, slots)
	}
	return g
}

// full reports whether the method enter would fail immediately.
func (g *admission) full() bool {
	return g.slots != nil && len(g.queue) == cap(g.queue) && len(g.slots) == cap(g.slots)
}

// tryEnter takes a slot if one is free, without waiting, and reports whether it got one. If it did, the
// caller must call the method leave when it no longer needs the slot.
func (g *admission) tryEnter() bool {
	if g.slots == nil {
		return true
	}
	select {
	case g.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

// enter waits for a slot and reports whether it got one in time. If it did, the caller must call the
// method leave when it no longer needs the slot.
func (g *admission) enter(ctx context.Context) bool {
	if g.tryEnter() {
		return true
	}
	select {
	case g.queue <- struct{}{}:
		defer func() { <-g.queue }()
	default:
		return false
	}
	timer := time.NewTimer(g.wait)
	defer timer.Stop()
	select {
	case g.slots <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func (g *admission) leave() {
	if g.slots != nil {
		<-g.slots
	}
}

// PostSlots describes a limit on concurrent posts.
type PostSlots struct {
	Limit   int // 0 for no limit
	Used    int
	Waiting int // posts that wait for a slot
}

func (g *admission) state() PostSlots {
	return PostSlots{Limit: cap(g.slots), Used: len(g.slots), Waiting: len(g.queue)}
}

// maxLimiterKeys limits the memory of a rateLimiter. If there are more keys, all counts are reset. A
// limit per address would not stop an attacker with that many addresses anyway.
const maxLimiterKeys = 100_000

// rateLimiter limits the number of requests in a time window for each key, such as an address
// or a partner. The first call after the end of a window begins the next one.
type rateLimiter[K comparable] struct {
	most   int // 0 for no limit
	window time.Duration

	mu    sync.Mutex
	since time.Time
	spent map[K]int
}

func newRateLimiter[K comparable](most int, window time.Duration) *rateLimiter[K] {
	return &rateLimiter[K]{most: most, window: window, spent: map[K]int{}}
}

// allows reports whether a key is below its limit. If not, it also returns the time until the next window. A request
// calls allows first and spend later, so concurrent requests can exceed the limit.
func (b *rateLimiter[K]) allows(key K, now time.Time) (bool, time.Duration) {
	return b.ask(key, now, false)
}

// take is like allows, but also counts the request if the key is below its limit.
func (b *rateLimiter[K]) take(key K, now time.Time) (bool, time.Duration) {
	return b.ask(key, now, true)
}

func (b *rateLimiter[K]) ask(key K, now time.Time, spend bool) (bool, time.Duration) {
	if b.most == 0 {
		return true, 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(now)
	if b.spent[key] >= b.most {
		return false, b.window - now.Sub(b.since)
	}
	if spend {
		b.spent[key]++
	}
	return true, 0
}

// spend counts a request, even if the limit has been reached.
func (b *rateLimiter[K]) spend(key K, now time.Time) {
	if b.most == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(now)
	b.spent[key]++
}

// turn begins a new window if the last one has ended or the clock was set back.
func (b *rateLimiter[K]) turn(now time.Time) {
	if passed := now.Sub(b.since); passed >= b.window || passed < 0 || len(b.spent) > maxLimiterKeys {
		b.since, b.spent = now, map[K]int{}
	}
}

const (
	// recentWindow is the length of a window. An address is remembered for one to two windows, or for a
	// shorter time if a window becomes full.
	recentWindow = 12 * time.Hour
	// maxRecentAddresses limits the number of addresses in each of the two windows.
	maxRecentAddresses = 10_000
)

// recentAddresses remembers the addresses in the current and the previous window. A window
// ends early when it is full.
type recentAddresses struct {
	mu              sync.Mutex
	since           time.Time
	current, before map[netip.Addr]struct{}
}

func (r *recentAddresses) add(address netip.Addr, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(now)
	if _, known := r.current[address]; !known && len(r.current) >= maxRecentAddresses {
		r.begin(now, r.current)
	}
	r.current[address] = struct{}{}
}

func (r *recentAddresses) has(address netip.Addr, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(now)
	_, current := r.current[address]
	_, before := r.before[address]
	return current || before
}

func (r *recentAddresses) turn(now time.Time) {
	switch passed := now.Sub(r.since); {
	case r.current == nil, passed >= 2*recentWindow:
		r.begin(now, nil)
	case passed >= recentWindow:
		r.begin(now, r.current)
	}
}

func (r *recentAddresses) begin(now time.Time, before map[netip.Addr]struct{}) {
	r.since, r.before, r.current = now, before, map[netip.Addr]struct{}{}
}
