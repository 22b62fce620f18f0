// Package clock is the only package that reads the system time. All other packages receive
// a Clock, so that tests can set the time and `pingpost dev` can run ahead of the machine's clock.
package clock

import (
	"context"
	"sync"
	"time"
)

// Clock returns the service's time, always in UTC.
type Clock interface {
	Now() time.Time
}

// System is the machine's clock plus Offset, which is zero outside `pingpost dev`.
type System struct{ Offset time.Duration }

// Now implements Clock.
func (s System) Now() time.Time { return time.Now().UTC().Add(s.Offset) }

// Sleep waits for the duration d. If ctx ends first, it returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// Manual is a clock for tests. It stands still until a test advances or sets it.
type Manual struct {
	mu  sync.RWMutex
	now time.Time
}

// NewManual returns a manual clock set to t.
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

// Set sets the clock to t.
func (m *Manual) Set(t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = t.UTC()
}
