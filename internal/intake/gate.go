package intake

import (
	"context"
	"time"
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
