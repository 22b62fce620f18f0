package intake

import (
	"context"
	"time"
)

// admission lets a bounded number through at once; of the rest a bounded number waits,
// for a bounded time. Who finds even the queue full is told so at once: under ten
// times the load, waiting would only make everybody late.
type admission struct {
	places chan struct{} // nil for no bound
	queue  chan struct{}
	wait   time.Duration
}

func newAdmission(places, queue int, wait time.Duration) *admission {
	g := &admission{queue: make(chan struct{}, queue), wait: wait}
	if places > 0 {
		g.places = make(chan struct{}, places)
	}
	return g
}

// full reports whether whoever comes now is refused.
func (g *admission) full() bool {
	return g.places != nil && len(g.queue) == cap(g.queue) && len(g.places) == cap(g.places)
}

// tryEnter takes a slot if one is free, without waiting. The caller must leave it.
func (g *admission) tryEnter() bool {
	if g.places == nil {
		return true
	}
	select {
	case g.places <- struct{}{}:
		return true
	default:
		return false
	}
}

// enter waits for a slot and reports whether it got one in time. The caller must leave it.
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
	case g.places <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func (g *admission) leave() {
	if g.places != nil {
		<-g.places
	}
}
