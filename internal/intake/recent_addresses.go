package intake

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// recentWindow is how long an address is remembered at least, unless others
	// displace it; it is forgotten after twice that.
	recentWindow = 12 * time.Hour
	// maxRecentAddresses bounds the memory: twice as many are remembered at most.
	maxRecentAddresses = 10_000
)

// recentAddresses remembers the addresses of the current window and of the one before. A
// window ends early when it is full.
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
