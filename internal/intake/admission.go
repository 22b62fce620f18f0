package intake

import (
	"context"
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
