// Package clock is the one place that reads the time. Everything else is given
// a Clock, so that tests set it and `pingpost dev` can run ahead of the machine.
package clock

import (
	"sync"
	"time"
)

// Clock tells the service's time. It is always UTC.
type Clock interface {
	Now() time.Time
}

// System is the machine's clock, ahead by Offset (dev only; zero in production).
type System struct{ Offset time.Duration }

// Now implements Clock.
func (s System) Now() time.Time { return time.Now().UTC().Add(s.Offset) }

// Manual is a clock that stands still until it is moved. Tests use it.
type Manual struct {
	mu  sync.RWMutex
	now time.Time
}

// NewManual starts a manual clock at t.
func NewManual(t time.Time) *Manual { return &Manual{now: t.UTC()} }

// Now implements Clock.
func (m *Manual) Now() time.Time {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.now
}

// Advance moves the clock by d, which may be negative.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}

// Set moves the clock to t.
func (m *Manual) Set(t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = t.UTC()
}
