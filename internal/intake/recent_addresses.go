package intake

import (
	"net/netip"
	"sync"
	"time"
)

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
