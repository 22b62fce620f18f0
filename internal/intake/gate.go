package intake

import (
	"context"
	"sync"
	"time"

	"github.com/pingpost/pingpost/internal/clock"
)

// gate lets a bounded number through at once; the rest wait a bounded time.
type gate struct {
	places chan struct{} // nil for no bound
	wait   time.Duration
}

func newGate(places int, wait time.Duration) *gate {
	g := &gate{wait: wait}
	if places > 0 {
		g.places = make(chan struct{}, places)
	}
	return g
}

// enter reports whether there was a place in time. Whoever entered leaves.
func (g *gate) enter(ctx context.Context) bool {
	if g.places == nil {
		return true
	}
	select {
	case g.places <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(g.wait)
	defer timer.Stop()
	select {
	case g.places <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func (g *gate) leave() {
	if g.places != nil {
		<-g.places
	}
}

// budgetAddresses bounds the memory of a budget. Beyond it everything is
// forgotten at once: an attacker with that many addresses is not held by a
// budget of each.
const budgetAddresses = 100_000

// budget counts what each address spends in a window of time.
type budget struct {
	most   int // 0 for no bound
	window time.Duration
	clock  clock.Clock

	mu    sync.Mutex
	since time.Time
	spent map[string]int
}

func newBudget(most int, window time.Duration, c clock.Clock) *budget {
	return &budget{most: most, window: window, clock: c, since: c.Now(), spent: map[string]int{}}
}

// left reports whether the address may spend, and how long until it may again.
func (b *budget) left(address string) (bool, time.Duration) {
	if b.most == 0 {
		return true, 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn()
	return b.spent[address] < b.most, b.window - b.clock.Now().Sub(b.since)
}

func (b *budget) spend(address string) {
	if b.most == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn()
	b.spent[address]++
}

// turn begins a new window when the last is over.
func (b *budget) turn() {
	if now := b.clock.Now(); now.Sub(b.since) >= b.window || len(b.spent) > budgetAddresses {
		b.since, b.spent = now, map[string]int{}
	}
}
